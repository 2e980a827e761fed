// Whether a file of the library names the versions that its test runs.
'use strict';
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

module.exports = (file, ...packages) => {
  const text = readFileSync(join(__dirname, '../../library', file), 'utf8');
  for (const [title, name] of packages) {
    const manifest = readFileSync(join(process.env.NODE_PATH, name, 'package.json'));
    const named = `${title} ${JSON.parse(manifest).version}`;
    assert.ok(text.includes(named), `${file} does not name ${named}`);
  }
};
