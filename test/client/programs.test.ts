import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Format } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunk, jsonAnswer, searchFrames, startFaultServer, streamHead } from '../helpers/fault-server.ts';
import { bareEnvironment, resultOf, temporaryFolder } from '../helpers/run.ts';
import { installed, root, serve } from './installed.ts';

/** Programs of other people, with the package as it is packed, against `leadpipe serve`. */
let folder: string;
let service: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  folder = installed('undici', '@types/node', 'undici-types');
  service = await serve();
});
afterAll(() => service.end());

const [fromPrograms, fromJobs] = ['programs.md', 'jobs.md'].map(
  (name) => /^```js\n([\s\S]*?)^```/m.exec(readFileSync(join(root, 'docs', name), 'utf8'))?.[1] ?? '',
) as [string, string];

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function runNode(...args: readonly string[]): { stdout: string; stderr: string; status: number | null } {
  const env = {
    ...bareEnvironment(folder),
    LEADPIPE_BASE_URL: service.url,
    LEADPIPE_API_KEY: 'lp_local_demo',
  };
  return spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8', timeout: 120_000 });
}

const threeLeads = {
  stdout: expect.stringMatching(/^(?:.+ https:\S+\n){3}stopped: limit\n$/),
  stderr: '',
  status: 0,
};

const typed = `
import {
  type Answer, type Client, type ClientOptions, ConfigurationError, type ContactSearchResult, createClient,
  type Entity, type Extraction, type Fault, type JsonText, JsonView, type Lead, LeadpipeError, type Page, RequestError,
  type Search,
  ServiceError, StoppedError, UsageError,
} from 'leadpipe';
UNDICI
const options: ClientOptions = {
  baseUrl: new URL(BASE_URL),
  apiKey: 'lp_local_demo',
  DISPATCHER
  timeouts: { headers: 5 },
  retry: { attempts: 1 },
  signal: new AbortController().signal,
};
const client: Client = createClient(options);
const search: Search = await client.search({ entity_type: 'company', objective: 'fintech in Berlin', limit: 2 });
const leads: Entity[] = [];
for await (const lead of search) {
  const { value, text }: Lead = lead;
  if (JSON.stringify(JSON.parse(text)) === JSON.stringify(value)) leads.push(value);
}
const answer: Answer<ContactSearchResult> = await client.contactSearch({ contact_type: 'email', objective: 'Nordlicht Pay' });
const contact = answer.value;
const { value } = await client.createTask({ entity_type: 'person', objective: 'founders in Lisbon', limit: 1 });
const page: Page = await client.fetch({ ...value, num: 1 });
const { available_credits } = (await client.balance()).value;
const extraction: Extraction = await client.extract({ type: 'github_repo_stargazers', target: 'acme/rocket', limit: 2 });
const id: JsonText | undefined = new JsonView(extraction.items[0]?.text ?? '{}').at('id');
const enriched = await client.enrich({
  entity_context: 'Nordlicht Pay',
  enrich_fields: { type: 'object', properties: { city: { type: 'string' } } },
});
const researched = await client.deepSearch({ query: 'Which fintech companies are in Berlin?' });
// @ts-expect-error: xiaohongshu can't be streamed
const refused: LeadpipeError = await client.search({ entity_type: 'xiaohongshu', objective: 'x' }).catch((e) => e);
let fault: Fault | undefined;
if (refused instanceof RequestError) fault = refused.fault;
const facts = refused.details.facts?.is;
console.log(JSON.stringify([
  leads.length, typeof leads[0]?.name, search.summary().stopReason, contact.result.content, page.leads.length + page.value.entities.length,
  available_credits > 0, extraction.items.length + extraction.value.metadata.limit, /^[0-9]+$/.test(id ?? ''), enriched.value.success,
  researched.value.success, refused instanceof UsageError, facts, fault,
  [ConfigurationError, ServiceError, StoppedError].every((one) => one.prototype instanceof LeadpipeError),
]));
`;
const withNode = typed
  .replace('UNDICI', "import { Agent } from 'undici';")
  .replace('BASE_URL', "process.env.LEADPIPE_BASE_URL ?? ''")
  .replace('DISPATCHER', 'dispatcher: new Agent({ keepAliveTimeout: 1, keepAliveMaxTimeout: 1 }),');
/** For those who have the types of browsers and none of Node. */
const withoutNode = typed
  .replace('UNDICI', '')
  .replace('BASE_URL', "'https://leads.example'")
  .replace('DISPATCHER', '');

const said =
  '[2,"string","limit","contact@nordlicht-pay.example",0,true,4,true,true,true,true,"stream_refused_type",null,true]\n';

function compile(name: string, source: string, options: object): string {
  const file = write(name, source);
  const project = write(
    `${name}.tsconfig.json`,
    JSON.stringify({
      compilerOptions: {
        target: 'es2023',
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        verbatimModuleSyntax: true,
        ...options,
      },
      files: [file],
    }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', project], { encoding: 'utf8' }).stdout;
}

describe('a program', () => {
  it('of the documentation runs unchanged, in JavaScript', () => {
    expect(runNode(write('programs.mjs', fromPrograms))).toMatchObject(threeLeads);
    const job = { stdout: expect.stringMatching(/^(?:.+ https:\S+\n){3}$/), stderr: '', status: 0 };
    expect(runNode(write('jobs.mjs', fromJobs))).toMatchObject(job);
  });

  it.each<[name: string, options: object]>([
    ['nodenext', { module: 'nodenext', types: ['node'] }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler', types: ['node'] }],
  ])('in TypeScript, %s, with a dispatcher of its own', (name, options) => {
    expect(compile(`${name}.mts`, withNode, options)).toBe('');
    expect(runNode(`${name}.mjs`)).toMatchObject({ stdout: said, stderr: '', status: 0 });
  });

  it('in TypeScript without the types of Node', () => {
    const options = { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom'], types: [] };
    expect(compile('without-node.mts', withoutNode, { ...options, noEmit: true })).toBe('');
  });

  it('in CommonJS, where Node lets it require an ES module', () => {
    const file = write('common.cjs', "console.log(typeof require('leadpipe').createClient);");
    const { stdout, stderr } = runNode(file);
    const canRequire = 'require_module' in process.features;
    expect(canRequire ? stdout : stderr).toContain(canRequire ? 'function\n' : 'ERR_REQUIRE_ESM');
  });

  it.each<Format>(['esm', 'cjs'])('bundled by esbuild as %s, alone in a folder', async (format) => {
    const [, imports = '', rest = ''] = /^(import .*\n)([\s\S]*)$/.exec(fromPrograms) ?? [];
    // CommonJS has no await outside of a function.
    const source = format === 'esm' ? fromPrograms : `${imports}(async () => {${rest}})();`;
    const outfile = join(temporaryFolder(), `program.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const entryPoints = [write(`bundled-${format}.mjs`, source)];
    await build({ entryPoints, outfile, bundle: true, platform: 'node', format });
    expect(runNode(outfile)).toMatchObject(threeLeads);
  });

  it('reaches what is documented and nothing else', () => {
    const inside = [
      'dist/index.js',
      'dist/main.cjs',
      'dist/types/errors.js',
      'bin/leadpipe.js',
      'package.json',
    ];
    const file = write(
      'inside.mjs',
      `for (const path of ${JSON.stringify(inside)}) await import('leadpipe/' + path).then(
        () => console.log(path), (error) => console.log(error.code));
      console.log(Object.keys(await import('leadpipe')).join());`,
    );
    expect(runNode(file).stdout.split('\n')).toEqual([
      ...inside.map(() => 'ERR_PACKAGE_PATH_NOT_EXPORTED'),
      'ConfigurationError,JsonView,LeadpipeError,RequestError,ServiceError,StoppedError,UsageError,createClient',
      '',
    ]);
  });

  it('that never reads a stream is not held by it', async () => {
    const [first = ''] = searchFrames([['{"name":"a"}']]);
    const keep = ['Connection: keep-alive'];
    const contact = jsonAnswer('{"result":{"content":null}}', keep);
    // It never ends.
    const endless = await startFaultServer((socket, { path }) => {
      socket.write(path.endsWith('contact-search') ? contact : streamHead + chunk(first));
    });
    const file = write(
      'unread.mjs',
      `import { createClient } from 'leadpipe';
      const client = createClient({ baseUrl: '${endless.url}', apiKey: 'lp_local_demo' });
      await client.contactSearch({ contact_type: 'email', objective: 'x' });
      await client.search({ entity_type: 'company', objective: 'fintech' });
      console.log('begun');`,
    );
    const child = spawn(process.execPath, [file], {
      cwd: folder,
      env: bareEnvironment(folder),
      timeout: 120_000,
    });
    expect(await resultOf(child)).toEqual({ stdout: 'begun\n', stderr: '', code: 0 });
    await endless.close();
  });

  it('that imports it starts nothing, reads no environment and writes no file', () => {
    const file = write(
      'idle.mjs',
      `const reads = [];
      const read = (env, name) => {
        // Node itself looks at some while it loads modules and fetches.
        if (!new Error().stack.split('\\n')[3].includes('node:internal')) reads.push(name);
        return env;
      };
      process.env = new Proxy(process.env, {
        get: (env, name) => read(env, name)[name],
        has: (env, name) => name in read(env, name),
        ownKeys: (env) => Reflect.ownKeys(read(env, 'all')),
      });
      const { LEADPIPE_BASE_URL: baseUrl } = process.env;
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      await import('data:text/javascript,');
      await turn();
      const before = process.getActiveResourcesInfo();
      const { createClient } = await import('leadpipe');
      const client = createClient({ baseUrl, apiKey: 'lp_local_demo' });
      await turn();
      const resources = process.getActiveResourcesInfo().filter((name) => !before.includes(name));
      if (process.argv[2] === 'search') {
        for await (const _ of await client.search({ entity_type: 'company', objective: 'fintech', limit: 1 }));
        await client.enrich({ entity_context: 'x', enrich_fields: { type: 'object', properties: { a: {} } } });
      }
      console.log(JSON.stringify({ reads, resources }));`,
    );
    const before = readdirSync(folder, { recursive: true });
    const nothing = { stdout: '{"reads":["LEADPIPE_BASE_URL"],"resources":[]}\n', stderr: '', status: 0 };
    expect(runNode(file)).toMatchObject(nothing);
    expect(runNode(file, 'search')).toMatchObject(nothing);
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });
});
