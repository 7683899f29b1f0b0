import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ServiceOptions, startService } from '../helpers/local-service.ts';
import { needs } from '../helpers/parts.ts';
import { bareEnvironment, command, pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { withoutLetters } from '../helpers/run-parts.ts';
import { startAgent } from '../mcp/agent.ts';

/** The jobs of docs/jobs.md, run unchanged, with the address of a local service. */
const text = readFileSync(join(import.meta.dirname, '../../docs/jobs.md'), 'utf8');
const blocksOf = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
const [
  install = '',
  environment = '',
  protect = '',
  morning = '',
  start = '',
  resume = '',
  timer = '',
  prices = '',
  companies = '',
  people = '',
  watch = '',
] = blocksOf('sh');
const [look = ''] = blocksOf('bash');
const nameOf = (block: string): string => /^# ~\/(\S+)$/m.exec(block)?.[1] ?? '';

/**
 * A home where the steps for each machine are done. leadpipe is the built command, and only the PATH of the jobs has it. Time and what
 * would change the machine are written down.
 */
async function machine(options: ServiceOptions = {}) {
  const service = await startService(options);
  const home = temporaryFolder();
  const programs = temporaryFolder();
  const lines = {
    leadpipe: `exec '${process.execPath}' '${command}' "$@"`,
    sleep: `echo "$1" >> '${home}/slept'`,
    date: `[ "$*" = +%F ] && cat '${home}/today'`,
    ...Object.fromEntries(
      ['npm', 'loginctl', 'systemctl'].map((name) => [name, `echo "${name} $*" >> '${home}/called'`]),
    ),
  };
  for (const [name, line] of Object.entries(lines)) {
    writeFileSync(join(programs, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(programs, name), 0o755);
  }
  const key = service.env().LEADPIPE_API_KEY ?? '';
  const bare = bareEnvironment(home);
  const path = `${programs}:${bare.PATH}`;
  const run = (script: string, env: Record<string, string> = {}, shell = 'sh') =>
    new Promise<Result>((resolve) => {
      const child = execFile(shell, ['-c', script], { cwd: home, env: { ...bare, ...env } });
      let [stdout, stderr] = ['', ''];
      child.stdout?.on('data', (some) => (stdout += some));
      child.stderr?.on('data', (some) => (stderr += some));
      child.on('close', (code) => resolve({ stdout, stderr, code }));
    });
  const write = (name: string, written: string) => writeFileSync(join(home, name), written);
  const typed = { PATH: path, USER: 'you', ...pointedAt(service.url, key) };
  await run(install, typed);
  const filled = environment
    .replace('https://your-service.example', service.url)
    .replace('your-key', key)
    .replace('/usr/local/bin', programs);
  write(nameOf(environment), filled);
  await run(protect);
  write(nameOf(morning), morning);
  write('today', '2026-11-26\n');
  return {
    home,
    write,
    read: (name: string): string =>
      existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8') : '',
    modeOf: (name: string): number => statSync(join(home, name)).mode & 0o777,
    /** Runs what cron and systemd start: with nothing of what a user has set. */
    run,
    /** Runs what a user types, who has set the address and the key. */
    type: (script: string, shell = 'sh') => run(script, typed, shell),
  };
}

it('a machine is made ready by the first steps', async () => {
  const { home, read, modeOf } = await machine();
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect(read('called')).toBe(`npm install --global ./leadpipe-${version}.tgz\n`);
  expect(modeOf(nameOf(environment))).toBe(0o600);
  expect(existsSync(join(home, '.config/systemd/user'))).toBe(true);
});

it('a key in quotes keeps its dollar sign', async () => {
  const { run } = await machine();
  const file = environment.replace('your-key', 'a$b');
  expect(await run(`${file}\necho "$LEADPIPE_API_KEY"`)).toMatchObject({ stdout: 'a$b\n' });
});

it('the files for the imports of other programs have the expected headers and the right cells', async () => {
  const { read, write, type } = await machine();
  write('people.csv', 'name;company\nJan van der Berg;Nordlicht Pay\n');
  expect(await type(`set -e\n${prices}${companies}${people}`)).toMatchObject({ code: 0, stdout: '' });
  const begins = (name: string) => read(name).split('\r\n').slice(0, 2);
  expect(begins('accounts.csv')).toEqual([
    'Account Name,Website,Description',
    expect.stringMatching(/^[^,]+,https:\/\/[^,]+,./),
  ]);
  expect(begins('companies.csv')).toEqual([
    'Company name,Company Domain Name,Description,LinkedIn Company Page',
    expect.stringMatching(/^[^,]+,https:\/\/[^,]+,./),
  ]);
  expect(begins('leads.csv')).toEqual([
    'First Name,Last Name,Company,Email',
    expect.stringMatching(/^Jan,van der Berg,Nordlicht Pay,/),
  ]);
  expect(begins('contacts.csv')[0]).toBe('First Name,Last Name,Company Name,Email');
});

describe('the morning job', () => {
  const [first, second] = ['leads/clinics-2026-11-26.csv', 'leads/clinics-2026-11-27.csv'] as const;
  const cut = { operation: 'search', fault: 'cut', after_batches: 1 };

  it('resumes what was cut, says only what may be lost, and a second run of the day adds nothing', async () => {
    const { home, modeOf, read, run } = await machine({ faults: [cut], switches: { batch_size: 4 } });
    const quiet = { code: 0, stdout: '', stderr: '' };
    const warning = expect.stringMatching(
      /^warning: Leads that the stopped search sent and that did not arrive here may .*\n$/,
    );
    expect(await run(start)).toEqual({ ...quiet, stderr: warning });
    expect(read('slept')).toBe('0\n60\n');
    expect(readdirSync(join(home, 'leads')).map((name) => `leads/${name}`)).toEqual([first]);
    const rows = read(first);
    expect(rows.trim().split('\r\n').length).toBeGreaterThan(10);
    expect(modeOf(first)).toBe(0o600);
    expect(await run(start)).toEqual(quiet);
    expect(read(first)).toBe(rows);
  });

  it('names what is left when all tries are cut, until it is resumed', async () => {
    const { home, read, run, type, write } = await machine({
      faults: [{ ...cut, count: 4 }],
      switches: { batch_size: 2 },
    });
    const left = `\nnot complete: ${join(home, first)}.part (leadpipe resume buys the rest)\n`;
    const last = await run(start);
    expect(last).toMatchObject({ code: 3, stdout: '' });
    expect(withoutLetters(last.stderr).endsWith(left)).toBe(true);
    // Of four errors the last one is shown, and of four files the last one is left.
    expect(last.stderr.match(/^error: /gm)).toHaveLength(1);
    expect(last.stderr.match(/^not complete: /gm)).toHaveLength(1);
    expect(read('slept')).toBe('0\n60\n600\n3600\n');
    write('today', '2026-11-27\n');
    const next = await run(start);
    expect(next).toMatchObject({ code: 3, stdout: '' });
    expect(`\n${withoutLetters(next.stderr)}`.endsWith(left)).toBe(true);
    expect(read(second)).not.toBe('');
    expect(await type(resume)).toMatchObject({ code: 0, stdout: '' });
    expect(readdirSync(join(home, 'leads')).map((name) => `leads/${name}`)).toEqual([first, second]);
    expect(read(first).trim().split('\r\n').length).toBeGreaterThan(4);
    expect(await run(start)).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('does not wait where that does not help', async () => {
    const { read, run } = await machine({ switches: { opening_credits: 10 } });
    expect(await run(start)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('10 are available'),
    });
    expect(read('slept')).toBe('0\n');
  });

  it('is what cron and systemd start', async () => {
    const name = nameOf(morning);
    expect(blocksOf('crontab')[0]).toContain(`$HOME/${name}\n`);
    const [service = '', timed = '', mail = ''] = blocksOf('ini');
    expect(service).toContain(`ExecStart=%h/${name}\n`);
    const [unit, clock, mails] = [service, timed, mail].map((one) => one.split('\n')[0]?.slice(2));
    expect(clock).toBe(unit?.replace('.service', '.timer'));
    expect(service).toContain(`OnFailure=${mails?.replace('@.', '@%n.')}\n`);
    const { read, type } = await machine();
    expect(await type(timer)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(read('called').split('\n').slice(1, -1)).toEqual([
      'loginctl enable-linger you',
      `systemctl --user enable --now ${clock}`,
      `systemctl --user start ${unit}`,
      'systemctl --user list-timers',
    ]);
  });
});

describe('a watch on credits', () => {
  it.each([
    ['too few', 5, { opening_credits: 400 }, '500'],
    ['a key that is not valid', 4, undefined, 'error: '],
    ['enough', 0, { opening_credits: 600 }, ''],
  ] as const)('prints an error or nothing: %s', async (_, code, switches, said) => {
    const faults = [{ operation: 'balance', fault: 'status', status: 401 }];
    const { run } = await machine(switches ? { switches } : { faults });
    const { stderr, ...result } = await run(watch);
    expect(result).toEqual({ code, stdout: '' });
    if (said === '') expect(stderr).toBe('');
    else expect(stderr).toContain(said);
  });

  it('is what cron starts', () => {
    expect(blocksOf('crontab')[1]).toContain(`$HOME/${nameOf(watch)}\n`);
  });
});

describe.skipIf(!needs('jq', 'bash'))('a pipe through jq', () => {
  it('looks up what jq has chosen', async () => {
    const { modeOf, read, type } = await machine();
    await type(prices);
    expect(await type(look, 'bash')).toMatchObject({ code: 0, stdout: '' });
    const rows = read('emails.csv').trim().split('\r\n');
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThan(20);
    expect(modeOf('emails.csv')).toBe(0o600);
  });

  it('fails when the search is cut', async () => {
    const faults = [{ operation: 'search', fault: 'cut', after_batches: 1 }];
    const { type } = await machine({ faults, switches: { batch_size: 4 } });
    await type(prices);
    expect(await type(look, 'bash')).toMatchObject({ code: 3 });
  });
});

describe('the other jobs', () => {
  it('start an agent', async () => {
    const { args } = JSON.parse(blocksOf('json')[0] ?? '').mcpServers.leadpipe;
    const service = await startService();
    const agent = await startAgent({ args: args.slice(1), env: service.env() });
    expect(args[0]).toBe('mcp');
    expect((await agent.call('balance')).isError).toBeFalsy();
    await agent.close();
  });
});
