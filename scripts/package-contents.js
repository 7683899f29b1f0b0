/** What a run needs, or a reader looks for. */
const needed = [
  ...['bin/leadpipe.js', 'dist/main.cjs', 'dist/index.js', 'dist/types/index.d.ts', 'dist/help.json'],
  ...['dist/reference.json', 'dist/leadpipe.1', 'dist/chunks/sqlite3.wasm', 'dist/packages/ajv.cjs'],
  ...['skills/leadpipe/SKILL.md', 'completions/leadpipe.bash', 'docs/setup.md'],
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'],
];

const ofDevelopers = /^(?:src|test|scripts|bench|release|coverage|node_modules|\.)|\.(?:tgz|map|log)$/;

/** Pure: what is wrong with the files that npm chose for the package, in words. */
export function toContentFaults(paths) {
  const missing = needed.filter((path) => !paths.includes(path));
  const others = paths.filter((path) => ofDevelopers.test(path));
  return [
    ...missing.map((path) => `${path} is missing`),
    ...others.map((path) => `${path} does not belong there`),
  ];
}
