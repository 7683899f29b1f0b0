/**
 * Makes, tests and publishes the package: npm packs it, the tarball is installed in an empty folder and used, and a list of its parts (SBOM) and
 * checksums are written next to it, in release/. With --dry-run, nothing is published.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { toContentFaults, toPublished } from './package-contents.js';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'release');
const isDryRun = process.argv.includes('--dry-run');
const manifest = join(root, 'package.json');
const source = readFileSync(manifest, 'utf8');
const { name, version } = JSON.parse(source);
const { GITHUB_REPOSITORY: repository } = process.env;
if (!repository && !isDryRun) fail('set GITHUB_REPOSITORY to the owner and the name of the repository');

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
// npm first builds the package (`prepack`), which prints lines that are not JSON.
const packed = packPublished();
const [{ files, filename, size }] = JSON.parse(packed.slice(packed.search(/^\[/m)));
const tarball = join(folder, filename);
checkContents();
useInstalled();
const sbom = join(folder, `${name}-${version}.cdx.json`);
// Covers all packages of the lock file, since development packages are in the bundle too.
const parts = JSON.parse(npm(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']));
// npm uses the name of the repository's folder instead.
parts.metadata.component.name = name;
writeFileSync(sbom, `${JSON.stringify(parts, null, 2)}\n`);
const sums = [tarball, sbom].map((path) => `${sha256(path)}  ${basename(path)}\n`);
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
console.log(`${tarball}: ${files.length} files, ${Math.round(size / 1000)} kB, installed and tested.`);
npm(['publish', ...(isDryRun ? ['--dry-run'] : []), tarball], 'inherit');
if (isDryRun) {
  console.log(
    `\nNothing was published: that needs a token, or the workflow release.yml on a tag v${version}.`,
  );
}

/** Packs with the repository in package.json, and restores package.json. Returns npm's output. */
function packPublished() {
  try {
    if (repository) writeFileSync(manifest, toPublished(source, repository));
    return npm(['pack', '--json', '--pack-destination', folder]);
  } finally {
    writeFileSync(manifest, source);
  }
}

/** Fails if a file is missing, does not belong in the package, or has a path of this machine. */
function checkContents() {
  const paths = files.map(({ path }) => path);
  const faults = toContentFaults(paths);
  for (const path of paths)
    if (readFileSync(join(root, path), 'latin1').includes(root))
      faults.push(`${path} contains a path of this machine`);
  if (faults.length > 0) fail(`the package: ${faults.join(', ')}`);
}

/** Installs the tarball in an empty folder and uses it like a user: the command, its files, the library, and npx. */
function useInstalled() {
  const home = mkdtempSync(join(tmpdir(), 'leadpipe-release-'));
  const { HOME: _, LEADPIPE_API_KEY: _key, LEADPIPE_BASE_URL: _url, ...others } = process.env;
  const env = {
    ...others,
    HOME: home,
    npm_config_cache: npm(['config', 'get', 'cache']).trim(),
    LEADPIPE_CONFIG_DIR: join(home, 'config'),
    LEADPIPE_STATE_DIR: join(home, 'state'),
  };
  const use = (program, ...args) =>
    execFileSync(program, args, { cwd: home, env, encoding: 'utf8', shell: process.platform === 'win32' });
  try {
    copyFileSync(tarball, join(home, filename));
    use('npm', 'install', '--silent', '--no-audit', '--no-fund', `./${filename}`);
    const leadpipe = (...args) =>
      use(process.execPath, join(home, 'node_modules', name, 'bin/leadpipe.js'), ...args);
    if (leadpipe('--version').trim() !== version) fail('the installed package has another version');
    const leads = leadpipe('search', 'company', 'fintech in Berlin', '--limit', '3', '--local', '-q');
    if (leads.trim().split('\n').length !== 3) fail('the installed package does not find leads');
    for (const words of [
      ['man'],
      ['skill'],
      ['completion', 'bash'],
      ['help', '--json'],
      ['search', '--help'],
    ])
      if (leadpipe(...words).length < 300) fail(`the installed package has no \`${words.join(' ')}\``);
    const library = `const { createClient } = await import('${name}'); if (typeof createClient !== 'function') process.exit(1);`;
    use(process.execPath, '--input-type=module', '--eval', library);
    const balance = use('npx', '--yes', `./${filename}`, 'balance', '--local', '-q');
    if (!balance.includes('available_credits')) fail('npx does not run the tarball');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function npm(args, stdout = 'pipe') {
  const stdio = ['ignore', stdout, 'inherit'];
  return execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio,
    shell: process.platform === 'win32',
    maxBuffer: 2 ** 28,
  });
}

function fail(why) {
  console.error(`release: ${why}`);
  process.exit(1);
}
