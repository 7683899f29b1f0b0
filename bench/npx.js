/**
 * From `npx` with nothing in its cache to the first line: leadpipe's first lead, packed as it would be published,
 * beside the first line of `--version` of the nearest command lines that npm has (without accounts they say no more).
 * Prints medians and ratios; the registry is the one that npm is set to.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const rounds = Number(process.argv[2] ?? 3);
const folder = mkdtempSync(join(tmpdir(), 'leadpipe-npx-'));

const [{ filename }] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }),
);
const tarball = join(folder, filename);
const search = ['search', 'company', 'seed-stage fintech in Berlin', '--limit', '5', '--local'];

const contenders = [
  ['leadpipe, first lead', ['--package', tarball, 'leadpipe', ...search]],
  ['leadpipe --version', ['--package', tarball, 'leadpipe', '--version']],
  ['firecrawl-cli --version', ['firecrawl-cli@1.23.3', '--version']],
  ['resend-cli --version', ['resend-cli@2.21.0', '--version']],
  ['@brightdata/cli --version', ['@brightdata/cli@0.3.7', '--version']],
  ['apify-cli --version', ['apify-cli@1.10.0', '--version']],
];

const times = new Map(contenders.map(([name]) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const [name, words] of contenders) times.get(name)?.push(await firstLine(words));
}
const median = (name) => times.get(name)?.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
const [[own]] = contenders;
for (const [name] of contenders) {
  const seconds = median(name) / 1000;
  console.log(
    `${name.padEnd(28)}${seconds.toFixed(2).padStart(7)} s   x${(median(name) / median(own)).toFixed(2)}`,
  );
}
rmSync(folder, { recursive: true, force: true });

/** Milliseconds; with a cache, a home and a folder that are all new. */
async function firstLine(words) {
  const home = mkdtempSync(join(folder, 'home-'));
  const child = spawn('npx', ['--yes', ...words], {
    cwd: home,
    env: {
      ...process.env,
      HOME: home,
      npm_config_cache: join(home, 'cache'),
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const begun = performance.now();
  const ms = await new Promise((resolve) => {
    child.stdout.once('data', () => resolve(performance.now() - begun));
    child.once('exit', () => resolve(Number.NaN));
  });
  await new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    child.once('exit', resolve);
  });
  rmSync(home, { recursive: true, force: true });
  return ms;
}
