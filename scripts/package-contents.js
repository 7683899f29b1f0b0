/** Files that must be in the package: for running it, or for readers. */
const needed = [
  ...['bin/leadpipe.js', 'dist/main.cjs', 'dist/index.js', 'dist/types/index.d.ts', 'dist/help.json'],
  ...['dist/reference.json', 'dist/leadpipe.1', 'dist/chunks/sqlite3.wasm', 'dist/packages/ajv.cjs'],
  ...['skills/leadpipe/SKILL.md', 'completions/leadpipe.bash', 'docs/setup.md'],
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'],
];

const ofDevelopers = /^(?:src|test|scripts|bench|release|coverage|node_modules|\.)|\.(?:tgz|map|log)$/;

/** Pure: problems with the files that npm chose for the package, for messages. */
export function toContentFaults(paths) {
  const missing = needed.filter((path) => !paths.includes(path));
  const others = paths.filter((path) => ofDevelopers.test(path));
  return [
    ...missing.map((path) => `${path} is missing`),
    ...others.map((path) => `${path} does not belong there`),
  ];
}

/** The placeholder in package.json, under `repository`, for the repository that a version is published from. */
const placeholder = 'OWNER/leadpipe';

/** Pure: the package.json of a version that is published from this repository, such as `acme/leadpipe`. */
export function toPublished(source, repository) {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw new Error(`"${repository}" is not the owner and the name of a repository`);
  const fields = JSON.parse(source.replace(placeholder, repository));
  const address = `https://github.com/${repository}`;
  return `${JSON.stringify({ ...fields, homepage: `${address}#readme`, bugs: `${address}/issues` }, null, 2)}\n`;
}
