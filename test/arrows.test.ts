import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** What each part of src may import of the others; `contract` and `json` stand at the bottom. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  json: [],
  clock: [],
  errors: [],
  context: ['clock'],
  requests: ['contract', 'json', 'errors'],
  files: ['clock', 'errors', 'context'],
  transport: ['contract', 'json', 'clock', 'errors', 'context'],
  received: ['transport', 'contract', 'json'],
  client: ['received', 'transport', 'contract', 'json', 'errors'],
  operations: [
    'connection',
    'requests',
    'files',
    'client',
    'transport',
    'contract',
    'json',
    'errors',
    'context',
  ],
  output: ['contract', 'json', 'files', 'clock', 'errors', 'context'],
  config: ['requests', 'contract', 'json', 'files', 'errors', 'context'],
  'local-service': ['contract', 'json', 'files', 'clock'],
  conformance: ['contract', 'json', 'clock', 'errors', 'context'],
  connection: ['requests', 'config', 'client', 'transport', 'contract', 'errors', 'context', 'local-service'],
  cli: [
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
  main: ['cli', 'config', 'context', 'errors'],
  'keychain-main': ['config'],
};

/** Loaded when used: these must not be reached by static imports from the command line's start. */
const lazyPackages = [
  'ajv',
  'undici',
  'csv-',
  '@napi-rs/keyring',
  'hono',
  'node-sqlite3-wasm',
  'string-width',
  'chalk',
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

  it('only the mains of the two processes touch process and console', () => {
    const touching = files.filter((file) => /\b(?:process|console)\.\w/.test(withoutComments(file)));
    expect(touching.sort()).toEqual(['src/keychain-main.ts', 'src/main.ts']);
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
