/**
 * Makes the package that is published, and tries everything but the publishing: checks, build, pack, contents, an
 * installation and a dry run. package.json itself is private, so that a checkout, built or not, can't be published by
 * mistake: what can is made here, in release/.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'release');
const {
  private: _private,
  scripts: _scripts,
  devDependencies: _dev,
  ...published
} = readJson('package.json');

run('npm', ['run', 'check']);
run('npm', ['run', '--silent', 'build']);
const tarball = pack();
const listed = JSON.parse(output('npm', ['pack', '--dry-run', '--json', tarball]))[0];
checkContents(listed.files.map(({ path }) => path));
checkInstalled(tarball);
run('npm', ['publish', '--dry-run', tarball]);
console.log(`\n${tarball} is ready: ${listed.files.length} files, ${Math.round(listed.size / 1000)} kB.`);
console.log(`To publish it: npm publish ${tarball}`);

function pack() {
  const content = join(folder, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(content, { recursive: true });
  for (const name of [...published.files, 'README.md', 'LICENSE']) {
    cpSync(join(root, name), join(content, name), { recursive: true });
  }
  writeFileSync(join(content, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  run('npm', ['pack', '--silent', '--pack-destination', folder, content]);
  return join(folder, `${published.name}-${published.version}.tgz`);
}

/** Exactly what belongs there: nothing missing, nothing that was left lying about, nothing of this machine. */
function checkContents(paths) {
  const expected =
    /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|bin\/(?:leadpipe\.js|package\.json)|docs\/[\w-]+\.(?:md|svg)|dist\/(?:main\.cjs|keychain-main\.cjs|index\.js|types\/[\w/-]+\.d\.ts|leadpipe\.1|THIRD-PARTY-LICENSES\.txt|chunks\/[\w.-]+\.(?:c?js|wasm|br)))$/;
  const unexpected = paths.filter((path) => !expected.test(path));
  if (unexpected.length > 0) fail(`these files do not belong into the package: ${unexpected.join(', ')}`);
  for (const needed of ['bin/leadpipe.js', 'dist/main.cjs', 'dist/leadpipe.1', 'LICENSE', 'README.md']) {
    if (!paths.includes(needed)) fail(`${needed} is missing from the package`);
  }
  for (const path of paths) {
    const text = readFileSync(join(folder, 'package', path), 'latin1');
    if (text.includes(root)) fail(`${path} holds a path of this machine`);
  }
}

/** The tarball, in a folder of its own: it starts, and finds leads. */
function checkInstalled(path) {
  const home = mkdtempSync(join(tmpdir(), 'leadpipe-release-'));
  try {
    run('npm', ['install', '--silent', '--no-save', '--prefix', home, path]);
    const command = join(home, 'node_modules', published.name, published.bin[published.name]);
    const env = { PATH: process.env.PATH, HOME: home };
    const version = execFileSync(process.execPath, [command, '--version'], { env, encoding: 'utf8' }).trim();
    if (version !== published.version) fail(`the installed package says that it is ${version}`);
    const args = ['search', 'company', 'fintech in Berlin', '--limit', '3', '--local', '-f', 'jsonl'];
    const leads = execFileSync(process.execPath, [command, ...args], { env, encoding: 'utf8' });
    if (leads.trim().split('\n').length !== 3) fail('the installed package does not find leads');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function run(program, args) {
  execFileSync(program, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
}

function output(program, args) {
  return execFileSync(program, args, { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' });
}

function fail(why) {
  console.error(`release: ${why}`);
  process.exit(1);
}
