import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../src/cli/program.ts';

const root = join(import.meta.dirname, '..');

/** What each part of src may import of the others; `contract` and `json` stand at the bottom. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  json: [],
  clock: ['errors'],
  errors: ['contract'],
  'event-loop': ['errors'],
  context: ['clock'],
  requests: ['contract', 'files', 'json', 'errors'],
  files: ['clock', 'json', 'errors', 'context'],
  transport: ['contract', 'json', 'clock', 'errors', 'context'],
  answers: ['transport', 'contract', 'json'],
  client: ['answers', 'transport', 'contract', 'json', 'errors'],
  operations: [
    'answers',
    'clock',
    'event-loop',
    'connection',
    'requests',
    'files',
    'client',
    'transport',
    'contract',
    'json',
    'event-loop',
    'errors',
    'context',
  ],
  output: ['contract', 'json', 'files', 'clock', 'event-loop', 'errors', 'context'],
  config: ['requests', 'output', 'contract', 'json', 'files', 'errors', 'context'],
  'local-service': ['contract', 'json', 'files', 'clock'],
  conformance: ['contract', 'json', 'clock', 'errors', 'context'],
  connection: ['requests', 'config', 'client', 'transport', 'contract', 'errors', 'context', 'local-service'],
  mcp: [
    'answers',
    'clock',
    'config',
    'connection',
    'operations',
    'client',
    'transport',
    'contract',
    'json',
    'files',
    'errors',
    'context',
    'requests',
    'output',
  ],
  cli: [
    'answers',
    'mcp',
    'clock',
    'connection',
    'operations',
    'client',
    'transport',
    'contract',
    'json',
    'errors',
    'context',
    'requests',
    'files',
    'output',
    'config',
    'local-service',
    'conformance',
  ],
  library: ['operations', 'answers', 'requests', 'transport', 'contract', 'json', 'errors'],
  index: [
    'library',
    'config',
    'operations',
    'client',
    'answers',
    'requests',
    'clock',
    'transport',
    'contract',
    'json',
    'errors',
  ],
  main: ['clock', 'cli', 'config', 'context', 'errors', 'files'],
  'keychain-main': ['config'],
};

/** What the folders inside a part may import of each other, and of what stands in the part itself. */
const allowedInside: Readonly<Record<string, readonly string[]>> = {
  cli: ['cli/commands', 'cli/messages', 'cli/options'],
  'cli/options': ['cli', 'cli/messages'],
  'cli/messages': ['cli', 'cli/options'],
  'cli/records': ['cli', 'cli/messages', 'cli/options'],
  'cli/commands': [
    'cli',
    'cli/options',
    'cli/messages',
    'cli/records',
    'cli/commands/history',
    'cli/commands/task',
  ],
  'cli/commands/history': [
    'cli',
    'cli/commands',
    'cli/commands/task',
    'cli/options',
    'cli/messages',
    'cli/records',
  ],
  'cli/commands/task': ['cli', 'cli/options', 'cli/messages', 'cli/records'],
  operations: ['operations/journal'],
  'operations/list': ['operations', 'operations/journal'],
  'operations/journal': ['operations'],
  'operations/only-new': ['operations', 'operations/journal'],
  'operations/search': ['operations', 'operations/journal', 'operations/only-new', 'operations/task'],
  'operations/task': ['operations', 'operations/journal', 'operations/only-new'],
  conformance: ['conformance/sections'],
  'conformance/sections': ['conformance'],
};

/** The parts that reach out of the process past the context, by what of Node they do it with. */
const reaching: Readonly<Record<string, readonly string[]>> = {
  child_process: ['cli', 'config'],
  'dns/promises': ['cli'],
  fs: ['cli', 'config', 'files', 'local-service', 'main', 'operations', 'output', 'requests'],
  'fs/promises': ['cli', 'config', 'connection', 'files', 'operations', 'output', 'transport'],
  http: ['connection', 'local-service', 'mcp', 'transport'],
  module: ['main'],
  net: ['cli', 'local-service', 'output', 'requests'],
  os: ['connection', 'files'],
  readline: ['cli'],
  tls: ['transport'],
  v8: ['connection'],
  zlib: ['files', 'local-service', 'operations', 'transport'],
};

/** What computes and tells nothing of the machine. */
const harmless = ['buffer', 'crypto', 'events', 'path', 'stream', 'timers/promises', 'url', 'util', 'vm'];

/** Loaded when used: these must not be reached by static imports from the command line's start. */
const lazyPackages = [
  'ajv',
  'undici',
  'csv-',
  '@napi-rs/keyring',
  'hono',
  '@sqlite.org/sqlite-wasm',
  'string-width',
  // Not chalk, which colours every error.
  'cli-table3',
  'ora',
  'read-excel-file',
  'fflate',
  '@modelcontextprotocol',
];

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => `src/${file}`)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));

function importsOf(file: string): { target: string; dynamic: boolean; typeOnly: boolean }[] {
  const source = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const fixed = [...source.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm)];
  const dynamic = [...source.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)];
  return [
    ...fixed.map(([, type, target = '']) => ({ target, dynamic: false, typeOnly: type !== undefined })),
    ...dynamic.map(([, target = '']) => ({ target, dynamic: true, typeOnly: false })),
  ];
}

function partOf(file: string): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** The folder that a file stands in, below src. */
function roomOf(file: string): string {
  return file.includes('/', 'src/'.length) ? dirname(file).replace('src/', '') : partOf(file);
}

/** Whether the arrows inside the part are held. */
function insideKnown(file: string): boolean {
  return partOf(file) in allowedInside;
}

function resolved(file: string, target: string): string {
  return relative(root, normalize(join(root, dirname(file), target)));
}

describe('import arrows', () => {
  it('every part of src is known', () => {
    expect([...new Set(files.map(partOf))].filter((part) => !(part in allowed))).toEqual([]);
  });

  it('point one way', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => resolved(file, target))
        .filter(
          (target) => partOf(target) !== partOf(file) && !allowed[partOf(file)]?.includes(partOf(target)),
        )
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('point one way inside a part too', () => {
    const wrong = files.flatMap((file) => {
      const room = roomOf(file);
      if (room !== partOf(file) && insideKnown(file) && !(room in allowedInside))
        return [`${room} is not known`];
      return importsOf(file)
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => resolved(file, target))
        .filter((target) => partOf(target) === partOf(file) && roomOf(target) !== room && insideKnown(file))
        .filter((target) => !allowedInside[room]?.includes(roomOf(target)))
        .map((target) => `${file} -> ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it('lead from no file back to it, types included', () => {
    const direct = (file: string): string[] =>
      importsOf(file)
        .filter(({ target, dynamic }) => target.startsWith('.') && !dynamic)
        .map(({ target }) => resolved(file, target));
    const arrows = new Map(files.map((file) => [file, direct(file)]));
    const isInCircle = (file: string): boolean => {
      const reached = new Set(arrows.get(file));
      for (const next of reached) for (const further of arrows.get(next) ?? []) reached.add(further);
      return reached.has(file);
    };
    expect(files.filter(isInCircle)).toEqual([]);
  });

  it('only these parts reach the machine past the context', () => {
    const found = new Map<string, Set<string>>();
    for (const file of files) {
      for (const { target, typeOnly } of importsOf(file)) {
        const name = target.replace(/^node:/, '');
        if (name === target || typeOnly || harmless.includes(name)) continue;
        found.set(name, (found.get(name) ?? new Set()).add(partOf(file)));
      }
    }
    expect(Object.fromEntries([...found].map(([name, parts]) => [name, [...parts].sort()]))).toEqual(
      reaching,
    );
  });

  it('time and chance come through the context', () => {
    const taking = files.filter((file) =>
      /(?<![.\w])set(?:Timeout|Interval)\(|Date\.now|performance\.now|new Date\(\)|Math\.random/.test(
        withoutComments(file),
      ),
    );
    // What a program imports makes its own; how long work keeps the event loop is no time of anybody's.
    const mayTake = ['src/clock.ts', 'src/event-loop.ts', 'src/index.ts', 'src/main.ts'];
    expect(taking.filter((file) => !mayTake.includes(file))).toEqual([]);
  });

  it('only the mains of the two processes touch process and console', () => {
    const touching = files.filter((file) => /\b(?:process|console)\.\w/.test(withoutComments(file)));
    expect(touching.sort()).toEqual(['src/keychain-main.ts', 'src/main.ts']);
  });

  it('a program that imports leadpipe reaches no command, no settings, no journal and no local service', () => {
    const reached = new Set(['src/index.ts']);
    for (const file of reached) {
      for (const { target, typeOnly } of importsOf(file)) {
        if (target.startsWith('.') && !typeOnly) reached.add(resolved(file, target));
      }
    }
    const rooms =
      /^src\/(?:cli|config\/(?!defaults\b)|connection|files|output|local-service|conformance|operations\/journal)\b/;
    expect([...reached].filter((file) => rooms.test(file))).toEqual([]);
    expect(reached.size).toBeGreaterThan(30);
  });

  it('no name of an option or a command stands below the command line', () => {
    const names = Object.keys(commands).join('|');
    const named = new RegExp(`(?:^|[^\\w-])--[a-z]|(?:\\bleadpipe |\`)(?:${names})\\b`);
    const naming = files
      .filter((file) => !/^src\/(?:cli|local-service)\//.test(file))
      .flatMap((file) => {
        const texts = withoutComments(file).match(/'[^'\n]*'|`[^`]*`/g) ?? [];
        return texts.filter((text) => named.test(text.slice(1, -1))).map((text) => `${file}: ${text}`);
      });
    expect(naming.sort()).toEqual([
      // Node's own options, and the ones that cost no loading of anything.
      "src/connection/connection.ts: '--liftoff-only'",
      "src/main.ts: '--help'",
    ]);
  });

  it('`--version` loads next to nothing', () => {
    const loaded = importsOf('src/main.ts').filter(({ dynamic, typeOnly }) => !dynamic && !typeOnly);
    const others = loaded.map(({ target }) => target).filter((target) => !target.startsWith('node:'));
    expect(others).toEqual(['./cli/exit-codes.ts', './clock.ts', './config/keychain.ts']);
  });

  it('what one command needs is loaded by that command', () => {
    const reached = new Set<string>();
    const packages = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { target, dynamic, typeOnly } of importsOf(file)) {
        if (dynamic || typeOnly) continue;
        if (target.startsWith('.')) visit(resolved(file, target));
        else packages.add(target);
      }
    };
    visit('src/main.ts');
    visit('src/cli/program.ts');
    expect([...packages].filter((name) => lazyPackages.some((lazy) => name.startsWith(lazy)))).toEqual([]);
    expect([...reached].filter((file) => /\/(?:commands|transport|local-service)\//.test(file))).toEqual([]);
  });
});

function withoutComments(file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}
