//! The dashboard: one page, served from the binary.
//!
//! Owns its files. They load nothing from elsewhere, need no building, and show nothing of the
//! server but what `api` tells whoever asks.

use crate::response::{Body, Response, Status};

/// A file of the dashboard: its path, what it is, its bytes.
type Asset = (&'static str, &'static str, &'static [u8]);

const ASSETS: &[Asset] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("dashboard/index.html")),
    ("/assets/app.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/app.js")),
    ("/assets/alerts.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/alerts.js")),
    ("/assets/memory.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/memory.js")),
    (
        "/assets/pattern.js",
        "text/javascript; charset=utf-8",
        include_bytes!("dashboard/pattern.js"),
    ),
    ("/assets/plot.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/plot.js")),
    (
        "/assets/treemap.js",
        "text/javascript; charset=utf-8",
        include_bytes!("dashboard/treemap.js"),
    ),
    ("/assets/views.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/views.js")),
    ("/assets/charts.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/charts.js")),
    ("/assets/expiry.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/expiry.js")),
    ("/assets/patch.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/patch.js")),
    ("/assets/plan.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/plan.js")),
    ("/assets/text.js", "text/javascript; charset=utf-8", include_bytes!("dashboard/text.js")),
    ("/assets/style.css", "text/css; charset=utf-8", include_bytes!("dashboard/style.css")),
    ("/assets/icon.svg", "image/svg+xml", include_bytes!("dashboard/icon.svg")),
];

/// The file at a path.
pub(crate) fn asset(path: &str) -> Option<Response> {
    let (_, content_type, body) = ASSETS.iter().find(|(of, ..)| *of == path)?;
    Some(Response { status: Status::Ok, content_type, body: Body::File(body) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for (path, _, bytes) in ASSETS {
            let text = std::str::from_utf8(bytes).expect("text");
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in
                ["http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("]
            {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }

    #[test]
    fn every_file_that_is_named_is_there() {
        for (path, _, bytes) in ASSETS {
            let text = std::str::from_utf8(bytes).expect("text");
            let modules = text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next());
            let named = text.split("\"/assets/").skip(1).filter_map(|rest| rest.split('"').next());
            for name in modules.chain(named) {
                assert!(asset(&format!("/assets/{name}")).is_some(), "{path} names {name}");
            }
        }
    }
}
