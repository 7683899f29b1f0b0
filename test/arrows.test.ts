import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../src/cli/program.ts';

const root = join(import.meta.dirname, '..');

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** For each name the words behind it. */
const table = (text: string): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', rest = '']) => [name.trim(), words(rest)]),
  );

/** Allowed imports of each part of src from the others; `contract` and `json` are at the bottom. */
const allowed = table(`
  contract:
  json:
  clock: errors
  digest:
  errors: contract
  event-loop: errors
  context: clock
  columns: json event-loop
  requests: columns contract files json errors
  sqlite:
  files: clock digest event-loop json sqlite errors context
  transport: contract json clock errors context
  answers: transport contract json
  client: answers transport contract json errors
  operations: answers clock columns digest event-loop connection requests files client transport contract json errors context
  output: columns contract json files clock event-loop errors context
  config: requests output contract json files errors context
  local-service: contract json files clock digest sqlite
  connection: requests config client digest files transport contract errors context local-service
  mcp: answers clock digest config connection operations client transport contract json files errors context requests output
  cli: answers mcp clock columns digest connection operations client transport contract json errors context requests files output config local-service
  library: operations answers requests transport contract json errors
  index: library config operations client answers requests clock transport contract json errors
  main: clock cli config context errors files
  keychain-main: config
`);

/** Allowed imports of the folders inside a part from each other, and from the files in the part itself. */
const allowedInside = table(`
  cli: cli/commands cli/messages cli/options cli/records
  cli/options: cli cli/messages
  cli/messages: cli cli/options
  cli/records: cli cli/messages cli/options
  cli/commands: cli cli/options cli/messages cli/records cli/commands/auth cli/commands/config cli/commands/history cli/commands/task
  cli/commands/auth: cli cli/options cli/messages cli/records
  cli/commands/config: cli cli/options cli/messages cli/records
  cli/commands/history: cli cli/commands cli/commands/task cli/options cli/messages cli/records
  cli/commands/task: cli cli/options cli/messages cli/records
  operations: operations/journal operations/kinds operations/only-new operations/report
  operations/journal:
  operations/kinds: operations operations/journal operations/only-new
  operations/only-new: operations operations/journal
  operations/report: operations operations/journal operations/kinds operations/only-new
`);

/** These run a purchase; a kind of purchase only describes it. */
const notForKinds = words('src/operations/run.ts src/operations/earlier.ts');

/** This file makes a digest of a stream without src/digest.ts. */
const ownDigests = words('src/files/addition.ts');

/** File names that occur twice, since the files are the same part of two folders. No name occurs three times. */
const repeatedNames = table(`
  csv.ts: files output
  entity-search.ts: local-service requests
  lookups.ts: local-service requests
  store.ts: config local-service
`);

/** Parts that use these modules of Node directly and not through the context. */
const reaching = table(`
  child_process: cli config files
  dns/promises: cli
  fs: cli config files local-service main operations output requests sqlite
  fs/promises: cli config connection files operations output transport
  http: connection local-service transport
  module: main
  net: cli local-service output requests transport
  os: files
  readline: cli
  tls: transport
  v8: connection
  zlib: files local-service operations transport
`);

/** Modules of Node that only compute. */
const harmless = words('buffer crypto events path stream string_decoder timers/promises url util vm');

/** Loaded when used: these must not be reached by static imports from the command line's start. Not chalk, which colours every error. */
const lazyPackages = words(`
  ajv undici csv- @napi-rs/keyring @sqlite.org/sqlite-wasm string-width
  cli-table3 ora saxen fflate @modelcontextprotocol
`);

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => `src/${file}`)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));

interface Import {
  /** A file of src, or a package. */
  readonly target: string;
  readonly isFile: boolean;
  readonly dynamic: boolean;
  readonly typeOnly: boolean;
}

/** All imports of a file, in whatever form: for values, for types, and `import()` of either. */
function importsOf(file: string): readonly Import[] {
  const known = allImports.get(file) ?? findImports(file);
  allImports.set(file, known);
  return known;
}

const allImports = new Map<string, readonly Import[]>();

function findImports(file: string): Import[] {
  const source = withoutComments(file);
  const fixed = source.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm);
  const dynamic = [...source.matchAll(/\bimport\(\s*()'([^']+)'\s*\)/g)];
  const calls = source.match(/\b(?:import|require|createRequire)\(/g) ?? [];
  if (calls.length !== dynamic.length) throw new Error(`${file} imports what stands in no text`);
  return [...fixed, ...dynamic].map(([statement, type, name = '']) => {
    const isFile = name.startsWith('.');
    const target = isFile ? relative(root, normalize(join(root, dirname(file), name))) : name;
    return { target, isFile, dynamic: statement.startsWith('import('), typeOnly: Boolean(type) };
  });
}

/** The files that a file imports. */
const filesOf = (file: string, isMeant = (_: Import): boolean => true): string[] =>
  importsOf(file)
    .filter((one) => one.isFile && isMeant(one))
    .map(({ target }) => target);

/** These files, and all that they come to import. */
function reachedFrom(starts: readonly string[], isMeant: (one: Import) => boolean): string[] {
  const reached = new Set(starts);
  for (const file of reached) for (const next of filesOf(file, isMeant)) reached.add(next);
  return [...reached];
}

const isLoaded = ({ dynamic, typeOnly }: Import): boolean => !dynamic && !typeOnly;

function partOf(file: string): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** The folder of a file, below src. */
function roomOf(file: string): string {
  return file.includes('/', 'src/'.length) ? dirname(file).replace('src/', '') : partOf(file);
}

/** Whether the arrows inside the part are held. */
function insideKnown(file: string): boolean {
  return partOf(file) in allowedInside;
}

describe('import arrows', () => {
  it('every part of src is known', () => {
    expect([...new Set(files.map(partOf))].filter((part) => !(part in allowed))).toEqual([]);
  });

  it('point one way', () => {
    const isWrong = (from: string, to: string): boolean =>
      from !== to && allowed[from]?.includes(to) !== true;
    const wrong = files.flatMap((file) =>
      filesOf(file)
        .filter((target) => isWrong(partOf(file), partOf(target)))
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('point one way inside a part too', () => {
    const wrong = files.filter(insideKnown).flatMap((file) => {
      const room = roomOf(file);
      if (room !== partOf(file) && !(room in allowedInside)) return [`${room} is not known`];
      return filesOf(file)
        .filter((target) => partOf(target) === partOf(file) && roomOf(target) !== room)
        .filter(
          (target) =>
            !allowedInside[room]?.includes(roomOf(target)) ||
            (room === 'operations/kinds' && notForKinds.includes(target)),
        )
        .map((target) => `${file} -> ${target}`);
    });
    expect(wrong.sort()).toEqual([]);
  });

  it('reach every command and subcommand in a file of its name', () => {
    const folder = 'src/cli/commands/';
    const defined = files
      .filter((file) => file.startsWith(folder))
      .flatMap((file) => {
        const definitions = withoutComments(file).matchAll(
          /\bdefine(Command|Group)\((?:\s*\{\s*name: '([\w-]*)')?/g,
        );
        return [...definitions].map(([, what, name]) => ({ file, what, name }));
      });
    const misplaced = defined.filter(({ file, name }) => !file.endsWith(`/${name}.ts`));
    expect(misplaced).toEqual([]);
    const twice = defined.filter(({ file }, at) => defined[at + 1]?.file === file);
    expect(twice).toEqual([]);
    const groups = defined.filter(({ what }) => what === 'Group').map(({ name }) => name);
    const rooms = defined.map(({ file }) => dirname(file.replace(folder, '')));
    expect([...new Set(rooms)].sort()).toEqual(['.', ...groups].sort());
    expect(
      Object.keys(commands).filter((name) => !defined.some((one) => one.file === `${folder}${name}.ts`)),
    ).toEqual([]);
  });

  it('form no cycles, with type imports and import() included', () => {
    const isReached = new Map(files.map((file) => [file, new Set(reachedFrom([file], () => true))]));
    const circles = files.flatMap((file) =>
      filesOf(file)
        .filter((target) => isReached.get(target)?.has(file))
        .map((target) => `${file} -> ${target}`),
    );
    expect(circles).toEqual([]);
  });

  it('a digest is made in one place', () => {
    const digest = /\b(?:createHash|hash)\b[^}]*\} from 'node:crypto'|\bfunction digestOf\b/;
    const making = files.filter((file) => digest.test(withoutComments(file)));
    expect(making.filter((file) => file !== 'src/digest.ts').sort()).toEqual(ownDigests);
  });

  it('the state of a run is in its context, not in a registry', () => {
    const keeping = files.filter((file) => /\bnew Weak(?:Map|Set|Ref)\b/.test(withoutComments(file)));
    // Facts about a command and an option of commander.
    expect(keeping).toEqual(['src/cli/help.ts', 'src/cli/options/facts.ts']);
  });

  it('a file name is unique, or names the same part of two folders', () => {
    const rooms = new Map<string, string[]>();
    // Command files are named after what users type, even if the name occurs elsewhere.
    for (const file of files.filter((file) => !file.startsWith('src/cli/commands/'))) {
      const room = dirname(file).replace('src/', '');
      rooms.set(basename(file), [...(rooms.get(basename(file)) ?? []), room].sort());
    }
    const repeated = [...rooms].filter(([, those]) => those.length > 1);
    expect(Object.fromEntries(repeated)).toEqual(repeatedNames);
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
    // The library makes its own clock; measuring how long work blocks the event loop needs none.
    const mayTake = ['src/clock.ts', 'src/event-loop.ts', 'src/index.ts', 'src/main.ts'];
    expect(taking.filter((file) => !mayTake.includes(file))).toEqual([]);
  });

  it('only the mains of the two processes touch process and console', () => {
    const touching = files.filter((file) => /\b(?:process|console)\.\w/.test(withoutComments(file)));
    expect(touching.sort()).toEqual(['src/keychain-main.ts', 'src/main.ts']);
  });

  it('a program that imports leadpipe reaches no command, no settings, no journal and no local service', () => {
    const reached = reachedFrom(['src/index.ts'], ({ typeOnly }) => !typeOnly);
    const rooms =
      /^src\/(?:cli|config\/(?!defaults\b)|connection|files|output|local-service|operations\/journal)\b/;
    expect(reached.filter((file) => rooms.test(file))).toEqual([]);
    expect(reached.length).toBeGreaterThan(30);
  });

  it('no option or command name occurs below the command line', () => {
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
    const loaded = importsOf('src/main.ts')
      .filter(isLoaded)
      .map(({ target }) => target);
    expect(loaded.filter((target) => !target.startsWith('node:'))).toEqual([
      'src/cli/exit-codes.ts',
      'src/clock.ts',
      'src/config/keychain.ts',
    ]);
  });

  it('packages for one command are loaded only by that command', () => {
    const reached = reachedFrom(['src/main.ts', 'src/cli/program.ts'], isLoaded);
    const packages = reached
      .flatMap(importsOf)
      .filter((one) => isLoaded(one) && !one.isFile)
      .map(({ target }) => target);
    expect(packages.filter((name) => lazyPackages.some((lazy) => name.startsWith(lazy)))).toEqual([]);
    expect(reached.filter((file) => /\/(?:commands|transport|local-service)\//.test(file))).toEqual([]);
  });
});

function withoutComments(file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}
