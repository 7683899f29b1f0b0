import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../helpers/parts.ts';
import { openTerminal } from '../helpers/pty.ts';
import { bareEnvironment, resultOf, start, temporaryFolder } from '../helpers/run.ts';
import { withoutLetters } from '../helpers/run-parts.ts';
import { screenOf } from '../helpers/screen.ts';
import { type SecretService, startSecretService } from '../helpers/secret-service.ts';

/**
 * A session as a new user has it, from the package to the history, in a real shell on a real terminal. docs/session.md shows
 * it; LEADPIPE_GOLDEN=update writes it there.
 */
const root = join(import.meta.dirname, '../..');
const readme = join(root, 'docs/session.md');
const columns = 100;
const hasParts = needs('bash', 'script', 'npm', 'dbus-daemon', 'dbus-send', 'gnome-keyring-daemon');

/** Typed as what the service turns out to have. */
const address = 'its address';

/** What is typed, and what has to be seen before the next is. */
const steps: readonly (readonly [keys: string, until: RegExp])[] = [
  ['npm install --global ./leadpipe-0.1.0.tgz\r', /2\$ $/],
  ['leadpipe doctor\r', /3\$ $/],
  ['leadpipe auth login\r', /Address of the service: \S*$/],
  [address, /not shown\): $/],
  ['lp_local_demo\r', /4\$ $/],
  ['leadpipe search company "seed-stage fintech in Berlin" --limit 3\r', /5\$ $/],
  [
    'leadpipe task run person "founders in Lisbon" --limit 40 -o founders.csv\r',
    /[1-9]\d* of 40 leads · task /,
  ],
  ['\x03', /6\$ $/],
  ['leadpipe resume\r', /7\$ $/],
  ['leadpipe history\r', /8\$ $/],
];

describe.skipIf(!hasParts)('the session that docs/session.md shows', () => {
  let secrets: SecretService;
  let service: ReturnType<typeof start>;
  let url = '';
  const folder = temporaryFolder();
  // How wide a table is depends on the length of this path, so it must not depend on where temporary folders are.
  const userHome = mkdtempSync('/tmp/leadpipe-test-');

  beforeAll(async () => {
    secrets = await startSecretService(userHome);
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', secrets.env.HOME ?? ''], {
      cwd: root,
      stdio: 'ignore',
    });
    service = start('serve --port 0 -q --set task_step_ms=4000', { env: bareEnvironment(folder) });
    const [said] = (await once(service.stdout, 'data')) as [Buffer];
    url = /http:\S+/.exec(String(said))?.[0] ?? '';
  });
  afterAll(async () => {
    const ended = resultOf(service);
    service.kill('SIGTERM');
    await ended;
    await secrets.close();
    rmSync(userHome, { recursive: true, force: true });
  });

  it('is what a new user sees', async () => {
    const home = secrets.env.HOME ?? '';
    const prefix = join(folder, 'npm');
    mkdirSync(prefix);
    writeFileSync(join(folder, 'inputrc'), 'set enable-bracketed-paste off\n');
    const terminal = openTerminal(['bash', '--norc', '--noprofile', '-i'], {
      columns,
      cwd: home,
      env: {
        ...npmEnvironment(),
        ...secrets.env,
        PATH: `${join(prefix, 'bin')}:${process.env.PATH}`,
        npm_config_prefix: prefix,
        npm_config_cache: join(folder, 'cache'),
        npm_config_update_notifier: 'false',
        npm_config_fund: 'false',
        LEADPIPE_CONFIG_DIR: '',
        LEADPIPE_STATE_DIR: '',
        PS1: '\\#$ ',
        INPUTRC: join(folder, 'inputrc'),
      },
    });
    await terminal.waitFor(/1\$ $/);
    for (const [keys, until] of steps) {
      terminal.type(keys === address ? `${url}\r` : keys);
      await terminal.waitFor(until);
    }
    terminal.type('exit\r');
    const { transcript } = await terminal.ended;
    const { text } = await screenOf(transcript, columns);
    const session = text
      .replace(/\n\d+\$ exit[\s\S]*/, '')
      // Where the terminal went on in the next line.
      .replaceAll('\n↪', '')
      .replaceAll(home, '/home/you')
      // The default port.
      .replaceAll(url, 'http://127.0.0.1:4010')
      .replace(/ \/\S*…$/gm, ' /home/you/found…')
      .replace(/^\d+\$ /gm, '$ ')
      .replace(/ +$/gm, '');
    if (process.env.LEADPIPE_GOLDEN === 'update') {
      writeFileSync(
        readme,
        readFileSync(readme, 'utf8').replace(
          inReadme,
          (_all, before, after) => `${before}${session}\n${after}`,
        ),
      );
    }
    const shown = inReadme.exec(readFileSync(readme, 'utf8'))?.[0] ?? '';
    expect(comparable(session)).toBe(comparable(shown.split('\n').slice(2, -2).join('\n')));
  });
});

const inReadme = /(<!-- session -->\n```console\n)[\s\S]*?(```\n)/;

/** Without what is another each time: IDs, times, versions, and how far the task was when it was stopped. */
function comparable(session: string): string {
  return withoutLetters(session)
    .replace(/\b(ls|req|op)_[\w-]+/g, '$1_…')
    .replace(/\b(\d{4}-)?\d\d-\d\d \d\d:\d\d/g, 'now')
    .replace(/^(node +ok +)[\d.]+/m, '$1x')
    .replace(/added \d+ packages in \d+m?s/, 'added packages')
    .replace(/free\. \d+ leads? (was|were) written, and (is|are)/, 'free. n leads were written, and are');
}

/** How npm reaches the registry here, without the rest of what is set on this machine. */
function npmEnvironment(): Record<string, string> {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const { NODE_EXTRA_CA_CERTS } = process.env;
  return { npm_config_registry: registry, ...(NODE_EXTRA_CA_CERTS ? { NODE_EXTRA_CA_CERTS } : {}) };
}
