import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bare, folder, inPairs, root, timesOf, wall } from '../measured.js';

/** Some say that they need a newer Node, and start all the same. */
const anyNode = { npm_config_engine_strict: 'false' };

const peers = { firecrawl: 'firecrawl-cli@1.23.3', resend: 'resend-cli@2.21.0' };

/** What it costs to have leadpipe: its size, a first `npx`, and the start of its nearest relatives. */
export async function packageRows(measure, isWanted) {
  if (!['package', 'npx', 'peers'].some(isWanted)) return;
  const [{ filename, size }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
    }),
  );
  await measure({ name: 'package: kB packed', unit: 'kB', pairs: () => [[size / 1000, size / 1000]] });
  const first = ['search', 'company', 'seed-stage fintech in Berlin', '--limit', '5', '--local'];
  await measure({
    name: 'npx, nothing in its cache: first lead of --local ÷ firecrawl-cli --version',
    aim: '≤ 0.6',
    pairs: () =>
      inPairs(
        3,
        () => cold('--package', join(folder, filename), 'leadpipe', ...first),
        () => cold(peers.firecrawl, '--version'),
      ),
  });
  await startOfPeers(measure, isWanted);
}

/** Installed, so that what is measured is their start. */
async function startOfPeers(measure, isWanted) {
  if (!isWanted('peers')) return;
  const home = mkdtempSync(join(folder, 'peers-'));
  execFileSync('npm', ['install', '--prefix', home, '--no-audit', '--no-fund', ...Object.values(peers)], {
    env: { ...process.env, ...anyNode },
    stdio: 'ignore',
  });
  for (const [name] of Object.entries(peers)) {
    await measure({
      name: `peers: leadpipe --version ÷ ${name} --version`,
      pairs: (count) =>
        inPairs(
          count,
          () => wall([process.execPath, join(root, 'bin/leadpipe.js'), '--version']),
          () => wall([join(home, 'node_modules/.bin', name), '--version']),
        ),
    });
  }
}

/** Milliseconds to the first byte, with a cache, a home and a folder that are all new. */
async function cold(...words) {
  const home = mkdtempSync(join(folder, 'home-'));
  // How npm reaches its registry on this machine, and nothing else.
  const ways = Object.entries(process.env).filter(([name]) =>
    /^(npm_config_|NODE_EXTRA_CA_CERTS)/i.test(name),
  );
  const env = {
    ...bare,
    ...Object.fromEntries(ways),
    HOME: home,
    npm_config_cache: join(home, 'cache'),
    ...anyNode,
  };
  const { first } = await timesOf(['npx', '--yes', ...words], { env });
  rmSync(home, { recursive: true, force: true });
  return first;
}
