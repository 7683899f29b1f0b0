import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ServiceOptions, startService } from '../helpers/local-service.ts';
import { needs } from '../helpers/parts.ts';
import { bareEnvironment, command, pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { startAgent } from '../mcp/agent.ts';

/** The jobs of docs/jobs.md, run as they stand, with the address of a local service. */
const text = readFileSync(join(import.meta.dirname, '../../docs/jobs.md'), 'utf8');
const blocksOf = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
const [morning = '', look = '', companies = '', people = '', watch = ''] = blocksOf('sh');
const [environment = ''] = blocksOf('ini');

/** A home in which leadpipe is the built command, and time and mail are written down. */
async function machine(options: ServiceOptions = {}) {
  const service = await startService(options);
  const home = temporaryFolder();
  for (const folder of ['bin', 'leads', '.config']) mkdirSync(join(home, folder));
  const programs = {
    leadpipe: `exec '${process.execPath}' '${command}' "$@"`,
    sleep: `echo "$1" >> '${home}/slept'`,
    mail: `{ echo "$@"; cat; } >> '${home}/mails'`,
  };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(home, 'bin', name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(home, 'bin', name), 0o755);
  }
  const key = service.env().LEADPIPE_API_KEY ?? '';
  writeFileSync(
    join(home, '.config/leadpipe-job.env'),
    environment.replace('https://your-service.example', service.url).replace('your-key', key),
  );
  const bare = bareEnvironment(home);
  const env = { ...bare, PATH: `${join(home, 'bin')}:${bare.PATH}` };
  return {
    service,
    home,
    read: (name: string): string =>
      existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8') : '',
    run: (script: string, more: Record<string, string> = pointedAt(service.url, key)) =>
      new Promise<Result>((resolve) => {
        const child = execFile('sh', ['-c', script], { cwd: home, env: { ...env, ...more } });
        let [stdout, stderr] = ['', ''];
        child.stdout?.on('data', (some) => (stdout += some));
        child.stderr?.on('data', (some) => (stderr += some));
        child.on('close', (code) => resolve({ stdout, stderr, code }));
      }),
  };
}

it('the files for the imports of other programs have the headers that they expect, and what stands under them', async () => {
  const { home, read, run } = await machine();
  writeFileSync(join(home, 'people.csv'), 'name,company\nAda Example,Nordlicht Pay\n');
  const prices = 'leadpipe config set price.contact.email 1\n';
  expect(await run(`set -e\n${prices}${companies}${people}`)).toMatchObject({ code: 0, stdout: '' });
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
    'Last Name,Company,Email',
    expect.stringMatching(/^Ada Example,Nordlicht Pay,/),
  ]);
  expect(begins('contacts.csv')[0]).toBe('First Name,Company Name,Email');
});

describe('the morning job', () => {
  it('waits and resumes where it was cut, into the file of today', async () => {
    const { home, read, run } = await machine({
      faults: [{ operation: 'search', fault: 'cut', after_batches: 1 }],
      switches: { batch_size: 4 },
    });
    expect(await run(morning, {})).toMatchObject({ code: 0, stdout: '' });
    expect(read('slept')).toBe('0\n60\n');
    const [file = '', ...others] = readdirSync(join(home, 'leads'));
    expect(others).toEqual([]);
    expect(file).toMatch(/^clinics-\d{4}-\d\d-\d\d\.csv$/);
    expect(read(`leads/${file}`).trim().split('\r\n').length).toBeGreaterThan(10);
  });

  it('does not wait where that does not help', async () => {
    const { read, run } = await machine({ switches: { opening_credits: 10 } });
    expect(await run(morning, {})).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('10 are available'),
    });
    expect(read('slept')).toBe('0\n');
  });

  it('is what cron and systemd start', () => {
    const name = /~\/(bin\/\S+)/.exec(morning)?.[1];
    expect(blocksOf('crontab')[0]).toContain(`$HOME/${name}`);
    const [, service = '', timer = '', mail = ''] = blocksOf('ini');
    expect(service).toContain(`ExecStart=%h/${name}\n`);
    const [unit, timed, mails] = [service, timer, mail].map((one) => one.split('\n')[0]?.slice(2));
    expect(timed).toBe(unit?.replace('.service', '.timer'));
    expect(service).toContain(`OnFailure=${mails?.replace('@.', '@%n.')}\n`);
  });
});

describe.skipIf(!needs('jq'))('the other jobs', () => {
  it('look up what jq has chosen', async () => {
    const { read, run } = await machine();
    await run('leadpipe config set price.contact.email 5');
    expect(await run(look)).toMatchObject({ code: 0, stdout: '' });
    const rows = read('emails.csv').trim().split('\r\n');
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThan(20);
  });

  it.each([
    [400, 'fewer than 500 credits are left'],
    [600, ''],
  ])('watch the balance: %i credits', async (opening_credits, said) => {
    const { read, run } = await machine({ switches: { opening_credits } });
    expect(await run(watch)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.not.stringMatching(/^ +at/),
    });
    expect(read('mails')).toContain(said);
    expect(read('mails') === '').toBe(said === '');
  });

  it('start an agent', async () => {
    const { args } = JSON.parse(blocksOf('json')[0] ?? '').mcpServers.leadpipe;
    const { service } = await machine();
    const agent = await startAgent({ args: args.slice(1), env: service.env() });
    expect(args[0]).toBe('mcp');
    expect((await agent.call('balance')).isError).toBeFalsy();
    await agent.close();
  });
});
