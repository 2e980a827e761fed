// Filters keys and functions by what their sections say. The page is complete
// without it.
(() => {
  const box = document.getElementById("filter");
  const nav = document.getElementById("contents");
  const itemOf = (section) => nav.querySelector(`a[href="#${CSS.escape(section.id)}"]`)?.closest("li");
  const entries = [...document.querySelectorAll("article.entry")].map((article) => ({
    article,
    item: itemOf(article),
    text: article.textContent.toLowerCase(),
  }));
  const chapters = [...document.querySelectorAll("section.chapter")].map((chapter) => ({
    chapter,
    item: itemOf(chapter),
    articles: [...chapter.querySelectorAll("article.entry")],
  }));
  const apply = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { article, item, text } of entries) {
      article.hidden = !words.every((word) => text.includes(word));
      if (item) item.hidden = article.hidden;
    }
    for (const { chapter, item, articles } of chapters) {
      chapter.hidden = words.length > 0 && articles.every((article) => article.hidden);
      if (item) item.hidden = chapter.hidden;
    }
    document.body.classList.toggle("filtered", words.length > 0);
  };
  const clear = () => {
    box.value = "";
    apply();
  };
  box.hidden = false;
  box.addEventListener("input", apply);
  // A link may lead to what the filter hides.
  addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.closest("[hidden]")) {
      clear();
      target.scrollIntoView();
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box) {
      clear();
      box.blur();
    }
  });
})();
