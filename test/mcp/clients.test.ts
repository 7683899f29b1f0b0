import { readFileSync } from 'node:fs';
import { parse as parseCsv } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { tools } from '../../src/mcp/session.ts';
import { toDefinition } from '../../src/mcp/tool.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, temporaryFolder } from '../helpers/run.ts';
import { type Agent, startAgent, startLedger } from './agent.ts';

let env: Record<string, string>;
let files: string;
beforeAll(async () => {
  ({ env } = await startLedger({ task_step: 40 }));
  files = temporaryFolder();
});

const schema = { type: 'object', properties: { city: { type: 'string' } } };

/** Calls every tool, and says what came of it, by the names of the members. */
async function useAll(agent: Agent, limit: number): Promise<void> {
  const called = new Set<string>();
  const progress: string[] = [];
  const ask = async (name: string, args: object = {}) => {
    called.add(name);
    const answer = await agent.call(name, args, { onProgress: (message) => progress.push(message) });
    const { structuredContent, content, isError = false } = answer;
    expect({ name, error: structuredContent?.error, isError }).toEqual({ name, isError: false });
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
    return structuredContent;
  };

  const fintech = { entity_type: 'company', objective: 'fintech' };
  const found = await ask('search', { ...fintech, limit, show: 2 });
  expect(found).toMatchObject({
    leads: [{ name: expect.stringContaining('Kontora') }, {}],
    count: limit,
    next: 2,
    complete: true,
    charged: 'yes',
    credits_left: expect.any(Number),
    operation_id: expect.stringMatching(/^op_/),
  });
  expect(progress.at(0)).toMatch(/^0\.001 of \d+: searching$/);
  expect(progress.at(-1)).toBe(`${limit} of ${limit}: ${limit} leads so far`);
  const { operation_id } = found;
  const { records, ...rest } = await ask('history_show', { operation_id, position: 2 });
  expect(rest).toEqual({ count: limit, complete: true, operation_id });
  expect(records).toHaveLength(limit - 2);
  const butOne = await ask('history_show', { operation_id, show: limit - 1 });
  expect(butOne).toMatchObject({ count: limit, next: limit - 1 });
  const again = await ask('search', { ...fintech, limit, show: 2 });
  expect(again).toMatchObject({ operation_id, stored: true, charged: 'no' });

  const all = limit + 20;
  const { leads_search_id, ...created } = await ask('task_create', { ...fintech, limit: all });
  expect(created).toMatchObject({ charged: 'maybe', idempotency_key: expect.stringMatching(/^lp-/) });
  let state = await ask('task_status', { leads_search_id });
  while (!state.complete) state = await ask('task_status', { leads_search_id });
  expect(state.task).toMatchObject({ leads_search_id, status: 'done', ready_count: all });
  const { leads, ...ready } = await ask('task_fetch', { leads_search_id, position: 3, show: 5 });
  expect(ready).toEqual({ count: all, next: 8, limit: all, status: 'done', complete: false });
  expect(leads).toHaveLength(5);

  const output = `leads of ${limit}.csv`;
  const written = await ask('history_show', { operation_id, output });
  expect(written).toMatchObject({ count: limit, complete: true, records: [] });
  expect(readFileSync(written.output, 'utf8').split('\n')[0]).toMatch(/^name,description,score/);
  expect(parseCsv(readFileSync(written.output), { columns: true })).toHaveLength(limit);
  const fetched = await ask('task_fetch', { leads_search_id, output: `task ${limit}.jsonl` });
  expect(fetched).toMatchObject({ count: all, complete: true, leads: [] });
  expect(readFileSync(fetched.output, 'utf8').trimEnd().split('\n')).toHaveLength(all);
  for (const name of [output, '../x.csv', '.mcp.json', 'AGENTS.md', '/tmp/x.csv', 'x.sh', 'a\\b.csv']) {
    const { error } = await agent.ask('history_show', { operation_id, output: name });
    expect(error).toMatchObject({ type: 'usage', charged: 'no' });
  }

  const contact = await ask('contact', { contact_type: 'email', objective: `Lena Weber, ${limit}` });
  expect(contact.charged).toBe('yes');
  expect(contact.answer.result.content).toBe('lena@nordlicht.example');
  const research = await ask('research', { query: `What does Kontora ${limit} do?` });
  expect(research).toMatchObject({ answer: { success: true }, complete: true });
  const enriched = await ask('enrich', { entity_context: `Kontora ${limit}`, enrich_fields: schema });
  expect(enriched).toMatchObject({ answer: { answer: { city: 'Berlin' } } });
  const page = { type: 'web2list', target: 'https://example.com/list' };
  const extracted = await ask('extract', { ...page, instruction: `Kontora ${limit}`, show: 0 });
  expect(extracted).toMatchObject({ items: [], count: 1, next: 0, charged: 'yes', metadata: page });

  expect(await ask('balance')).toMatchObject({ balance: { available_credits: expect.any(Number) } });
  const { purchases, next } = await ask('history_list', { show: 3 });
  expect(next).toBe(3);
  const commands = purchases.map(({ command }: { command: string }) => command);
  expect(commands).toEqual(['extract web2list', 'enrich', 'research']);

  const listed = await agent.listTools();
  expect(listed.map(({ name }) => name).sort()).toEqual([...called].sort());
  expect(agent.instructions()).toContain('data');
}

/** Every kind of refusal is an answer that the client takes. */
async function beRefused(agent: Agent): Promise<void> {
  const inTask = { type: 'usage', hint: expect.stringContaining('task_create') };
  const wanted = { entity_type: 'company', objective: 'x' };
  for (const [name, args, expected] of [
    ['search', { ...wanted, entity_type: 'wechat' }, inTask],
    ['search', { ...wanted, limitt: 3 }, { message: 'search has no argument limitt' }],
    ['search', { ...wanted, limit: 1001 }, { type: 'usage' }],
    ['search', { ...wanted, limit: null }, { type: 'usage', charged: 'no' }],
    ['search', { objective: 'x' }, { message: 'search needs the argument entity_type' }],
    ['research', { query: 7 }, { message: 'query takes a text' }],
    ['enrich', { entity_context: 'x', enrich_fields: { type: 'object' } }, { type: 'usage' }],
    ['history_show', { operation_id: '../..' }, { type: 'operation_not_found', exit: 6 }],
    ['task_status', { leads_search_id: 'ls_none' }, { status: 404, exit: 6, charged: 'no' }],
    ['buy_everything', {}, { type: 'usage' }],
  ] as const) {
    const { content, isError, structuredContent } = await agent.call(name, args);
    expect(isError).toBe(true);
    expect(structuredContent).toEqual({ error: expect.objectContaining(expected) });
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
  }
}

describe.each([1, 2] as const)("the SDK's client of version %i", (version) => {
  it('runs every tool on stdio', async () => {
    const args = ['--files', files];
    const agent = await startAgent({ version, args, env: { ...env, ...bareEnvironment() } });
    await useAll(agent, 5 + version);
    await beRefused(agent);
  });
});

describe('the list of tools', () => {
  it('takes at most 12 kB', () => {
    expect(Buffer.byteLength(JSON.stringify({ tools: tools.map(toDefinition) }))).toBeLessThanOrEqual(12_000);
  });
});

it('on a terminal, `mcp` says what it waits for, and how each agent is set up with a limit', async () => {
  const { code, stdout, stderr } = await runInProcess('mcp --profile "my team" --max-credits 50', {
    stdinIsTerminal: true,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toSay('Waiting for an agent', 'at most 50 credits');
  const args = ['mcp', '--profile', 'my team', '--max-credits', '50'];
  expect(stderr).toContain(
    '\n  claude mcp add leadpipe -- leadpipe mcp --profile "my team" --max-credits 50\n',
  );
  const [, added = ''] = /^ {2}code --add-mcp '(.*)'$/m.exec(stderr) ?? [];
  expect(JSON.parse(added)).toEqual({ name: 'leadpipe', command: 'leadpipe', args });
  for (const agent of ['Cursor', 'Claude Desktop']) {
    const [, settings = ''] = new RegExp(`^${agent}, .*\\n {2}(.*)$`, 'm').exec(stderr) ?? [];
    expect(JSON.parse(settings)).toEqual({ mcpServers: { leadpipe: { command: 'leadpipe', args } } });
  }
  expect((await runInProcess('mcp', { stdinIsTerminal: true })).stderr).toContain('"--max-credits","200"');
  const more = `mcp --confirm --files ${files} --base-url https://api.example`;
  expect((await runInProcess(more, { stdinIsTerminal: true })).stderr).toContain(
    `-- leadpipe mcp --base-url https://api.example --max-credits 200 --confirm --files ${files}\n`,
  );
  // Nothing costs credits there.
  const local = (await runInProcess('mcp --local', { stdinIsTerminal: true })).stderr;
  expect(local).toContain('claude mcp add leadpipe -- leadpipe mcp --local\n');
  expect(local).toSay('With --local, everything is free. To stop waiting');
});

it.each([60, 80])(
  'on a terminal of %i columns, `mcp` breaks its sentences and no line to copy',
  async (columns) => {
    const terminal = { stdinIsTerminal: true, stderrIsTerminal: true, columns };
    const lines = (await runInProcess('mcp', terminal)).stderr.split('\n');
    const isCopied = (line: string) => line.startsWith('  ');
    expect(lines.filter(isCopied)).toHaveLength(4);
    expect(lines.filter((line) => !isCopied(line) && line.length > columns)).toEqual([]);
    // An agent has a pipe there.
    expect((await runInProcess('mcp')).stderr).toBe('');
  },
);
