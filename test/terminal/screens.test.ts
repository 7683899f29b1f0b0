import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FaultServer } from '../helpers/fault-server.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal, type TerminalOptions } from '../helpers/pty.ts';
import { pointedAt, temporaryFolder } from '../helpers/run.ts';
import { screenOf } from '../helpers/screen.ts';
import { startFixedService } from './fixed-service.ts';
import { settled } from './settled.ts';

interface Screenplay {
  readonly name: string;
  readonly line: string;
  readonly widths: readonly number[];
  readonly env?: Readonly<Record<string, string>>;
}

const noService = { LEADPIPE_BASE_URL: '', LEADPIPE_API_KEY: '' };

/** Screens as a user sees them; a person checks each change. `npx vitest run test/terminal -u` writes them again. */
const screenplays: readonly Screenplay[] = [
  { name: 'search', line: 'search company fintech', widths: [20, 60, 80, 120, 200] },
  { name: 'search-unlike', line: 'search company unlike', widths: [60, 70, 80, 120] },
  { name: 'search-table', line: 'search company unlike -f table', widths: [40] },
  { name: 'search-few', line: 'search company "a few"', widths: [80, 100, 200] },
  { name: 'search-cards', line: 'search company "a few" -f cards', widths: [120] },
  {
    name: 'search-enriched',
    line: 'search company enriched --enrich-fields funding_stage,headcount,investors',
    widths: [60, 80, 120],
  },
  { name: 'search-columns', line: 'search company fintech --columns name,links', widths: [60, 120] },
  { name: 'search-nothing', line: 'search company nothing', widths: [60] },
  { name: 'search-cut', line: 'search company cut', widths: [60, 120] },
  { name: 'search-to-file', line: 'search company fintech -o leads.csv', widths: [80] },
  { name: 'search-dumb', line: 'search company "a few"', widths: [80], env: { TERM: 'dumb' } },
  { name: 'search-no-color-quiet', line: 'search company fintech --no-color -q', widths: [60, 80] },
  { name: 'contact', line: 'contact email "the CTO of Solaris Ledger"', widths: [60, 120] },
  { name: 'contact-not-found', line: 'contact phone nobody', widths: [80] },
  { name: 'research', line: 'research "which firms fit?"', widths: [60, 200] },
  {
    name: 'enrich',
    line: 'enrich "Solaris Ledger" --field headcount:integer --field city',
    widths: [60, 120],
  },
  { name: 'extract', line: 'extract github_repo_stargazers acme/rocket', widths: [60, 80] },
  { name: 'balance', line: 'balance', widths: [60] },
  { name: 'task-run', line: 'task run company fintech', widths: [60, 120] },
  { name: 'auth-status', line: 'auth status', widths: [60, 120] },
  { name: 'error-no-address', line: 'balance', widths: [60], env: noService },
  { name: 'error-usage', line: 'search compny x', widths: [60, 80] },
  { name: 'error-option', line: 'search company x --limt 3', widths: [60] },
  { name: 'error-credits', line: 'search company "no credit"', widths: [60, 120] },
  { name: 'error-long-message', line: 'search company misunderstood', widths: [60, 200] },
];

const cases = screenplays.flatMap((play) => play.widths.map((columns) => ({ ...play, columns })));

describe.skipIf(!needs('script', 'stty'))('what a terminal shows', () => {
  let service: FaultServer;
  beforeAll(async () => {
    service = await startFixedService();
  });

  async function shown(line: string, options: TerminalOptions & { columns: number }) {
    const terminal = inTerminal(line, { ...options, env: { ...pointedAt(service.url), ...options.env } });
    const { transcript, code } = await terminal.ended;
    const screen = await screenOf(settled(transcript), options.columns);
    const variables = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value} `);
    return { screen, golden: `$ ${variables.join('')}leadpipe ${line}\n${screen.text}[exit ${code}]\n` };
  }

  it.each(cases)('$name in $columns columns', async ({ name, line, columns, env }) => {
    const { golden, screen } = await shown(line, { columns, ...(env && { env }) });
    await expect(golden).toMatchFileSnapshot(join('golden', `${name}.${columns}.txt`));
    expect(screen.ready).toBe(true);
  });

  it.each([60, 80, 120])('the history and the tasks of a machine in %i columns', async (columns) => {
    const env = { LEADPIPE_STATE_DIR: temporaryFolder() };
    for (const line of [
      'search company "a few" -o /dev/null',
      'contact email nobody',
      'extract github_repo_stargazers acme/rocket',
      'search company "no credit"',
      'task run company "fintech in Berlin or near it"',
    ]) {
      await shown(line, { columns, env });
    }
    const goldens = [];
    for (const line of ['history', 'task list']) goldens.push((await shown(line, { columns, env })).golden);
    const text = goldens.join('').replaceAll(env.LEADPIPE_STATE_DIR, '/state');
    await expect(text).toMatchFileSnapshot(join('golden', `history.${columns}.txt`));
  });
});
