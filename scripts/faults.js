/**
 * `npm run faults -- [file] [word …]`: mutation tests. Each fault of the list (test/faults.json) with one of the words in its name, kind or file is
 * put into a copy of the project, and the tests run there: first those that the list names, then those of its folder. Prints the test that failed,
 * or that none did; the exit code is 1 if a fault was not noticed.
 *
 * FAULTS_JOBS: copies in use at once (2). FAULTS_TOGETHER: faults tried together (1); more is quicker if most go unnoticed. FAULTS_ROOMS=no: only the
 * tests that the list names. FAULTS_WRITE=yes: writes the test that noticed a fault into the list, to run it first next time; then `npm run format`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const args = process.argv.slice(2);
const file = args[0]?.endsWith('.json') ? args.shift() : 'test/faults.json';
const words = args;
const {
  FAULTS_JOBS: jobs = '2',
  FAULTS_TOGETHER: together = '1',
  FAULTS_ROOMS: inRooms = 'yes',
  FAULTS_WRITE: isWritten = 'no',
} = process.env;
/** Tests that need all of the package. */
const others = ['--exclude', 'test/client/programs.test.ts', '--exclude', 'test/package.test.ts'];
/** Timeout of a test run, in seconds. */
const longest = 1800;

/** Test folders for each folder of src, the nearest first. */
const rooms = {
  answers: 'client cli/odd-answers cli/search-stream fuzz matrix',
  client: 'client matrix',
  columns: 'output cli',
  config: 'config cli keychain network',
  connection: 'network cli client',
  contract: 'contract conformance',
  files: 'files output durability cli list',
  json: 'json fuzz output cli',
  library: 'client',
  'local-service': 'local-service conformance cli/local',
  mcp: 'mcp hostile',
  operations: 'operations list cli mcp durability matrix',
  output: 'output cli terminal',
  requests: 'requests cli list',
  sqlite: 'files local-service cli',
  transport: 'transport client network matrix cli',
  cli: 'cli list terminal shell hostile',
  'index.ts': 'client',
  'main.ts': 'cli hostile shell',
};

const all = JSON.parse(readFileSync(file, 'utf8'));
const faults = all.filter(({ file, kind, name }) =>
  words.length === 0 ? true : words.some((word) => [file, kind, name].join(' ').includes(word)),
);
const results = [];
const scratch = mkdtempSync(join(tmpdir(), 'leadpipe-faults-'));
// Some tests run the command as another user.
chmodSync(scratch, 0o755);
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill();
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const began = Date.now();
const left = [...faults];
await Promise.all(Array.from({ length: Number(jobs) }, (_, at) => work(copyTo(join(scratch, `${at}`)))));
await checkNoticed(join(scratch, '0'));
tell();
if (isWritten === 'yes') writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);

async function work(copy) {
  while (left.length > 0) await tryAll(copy, left.splice(0, Number(together)));
}

/** If no test fails with all faults in place, none is noticed. Otherwise each half is tried again, down to single faults. */
async function tryAll(copy, some) {
  const since = Date.now();
  const found = await tryFaults(copy, some);
  if (some.length > 1 && found.is !== 'passed') {
    const half = Math.ceil(some.length / 2);
    await tryAll(copy, some.slice(0, half));
    return await tryAll(copy, some.slice(half));
  }
  const seconds = Math.round((Date.now() - since) / 1000 / some.length);
  for (const fault of some) {
    const result = { fault, ...found, seconds };
    results.push(result);
    console.log(lineOf(result));
  }
}

/** Copies the files that git tracks or would add, and links node_modules. */
function copyTo(copy) {
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const name of names.trim().split('\n'))
    cpSync(join(root, name), join(copy, name), { verbatimSymlinks: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // A fault may leave something unused, which must not count as a type error.
  const types = {
    extends: './tsconfig.json',
    include: ['src'],
    compilerOptions: {
      incremental: true,
      tsBuildInfoFile: 'types.tsbuildinfo',
      noUnusedLocals: false,
      noUnusedParameters: false,
    },
  };
  writeFileSync(join(copy, 'tsconfig.src.json'), JSON.stringify(types));
  return copy;
}

async function tryFaults(copy, some) {
  const [{ redundant }] = some;
  if (redundant !== undefined) return { is: 'redundant', what: redundant };
  const before = new Map();
  try {
    for (const { file: name, replace, search } of some) {
      const path = join(copy, name);
      const text = readFileSync(path, 'utf8');
      const count = text.split(search).length - 1;
      if (count !== 1) return { is: 'gone', what: `its text is there ${count} times` };
      if (!before.has(path)) before.set(path, text);
      writeFileSync(
        path,
        text.replace(search, () => replace),
      );
    }
    const types = await run(copy, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.src.json']);
    if (types.code !== 0) return { is: 'no fault', what: types.text.split('\n')[0] };
    const near = [...new Set(some.flatMap(({ tests = [] }) => tests))];
    const noticed = near.length === 0 ? undefined : await test(copy, near);
    if (noticed !== undefined || inRooms === 'no') return noticed ?? { is: 'passed' };
    return (await test(copy, [...new Set(some.flatMap(({ file }) => roomsOf(file)))])) ?? { is: 'passed' };
  } finally {
    for (const [path, text] of before) writeFileSync(path, text);
  }
}

function roomsOf(name) {
  const room = name.split('/')[1];
  return (rooms[room] ?? 'cli').split(' ').map((one) => `test/${one}`);
}

/** Runs tests until one fails; undefined if none does. */
async function test(copy, tests) {
  const output = join(copy, 'tests.json');
  rmSync(output, { force: true });
  const options = [
    '--bail',
    '1',
    '--maxWorkers',
    '1',
    ...others,
    '--reporter',
    'json',
    '--outputFile',
    output,
  ];
  const { code, text } = await run(copy, ['node_modules/vitest/vitest.mjs', 'run', ...tests, ...options]);
  if (code === 0) return undefined;
  let found;
  try {
    found = JSON.parse(readFileSync(output, 'utf8')).testResults;
  } catch {
    return { is: 'no fault', what: `the tests did not run: ${text.trim().split('\n').at(-1)}` };
  }
  const failed = found.find(({ status }) => status === 'failed');
  const first = failed?.assertionResults.find(({ status }) => status === 'failed');
  const by = failed && relative(copy, failed.name);
  return { is: 'noticed', by, what: `${by}: ${first?.fullName ?? failed?.message.split('\n')[0]}` };
}

/** Runs the failed tests again without a fault: a test that fails then proves nothing. */
async function checkNoticed(copy) {
  const names = [...new Set(results.flatMap(({ by }) => by ?? []))];
  if (names.length === 0) return;
  const output = join(copy, 'tests.json');
  const options = ['--reporter', 'json', '--outputFile', output];
  await run(copy, ['node_modules/vitest/vitest.mjs', 'run', ...names, ...options]);
  const tests = JSON.parse(readFileSync(output, 'utf8')).testResults.flatMap(
    ({ assertionResults, message, name, status }) =>
      assertionResults.length === 0
        ? [{ by: name, what: message, status }]
        : assertionResults.map(({ fullName, status }) => ({ by: name, what: fullName, status })),
  );
  for (const result of results) {
    const isSame = ({ by, what, status }) =>
      status === 'failed' && result.what?.startsWith(`${relative(copy, by)}: ${what}`);
    if (result.is === 'noticed' && tests.some(isSame)) result.is = 'unproven';
  }
}

async function run(cwd, args) {
  const env = { ...process.env, TMPDIR: tmpdir(), LEADPIPE_QUICK_BUILD: 'yes' };
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'pipe', timeout: longest * 1000 });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (some) => {
      text += some;
    });
  children.add(child);
  const [code] = await once(child, 'close');
  children.delete(child);
  return { code, text };
}

function lineOf({ fault, is, seconds, what }) {
  return `${is.toUpperCase()} ${fault.kind}: ${fault.name} (${fault.file}, ${seconds} s)${what === undefined ? '' : `\n    ${what}`}`;
}

function tell() {
  const kinds = [...new Set(faults.map(({ kind }) => kind))];
  const states = ['noticed', 'passed', 'redundant', 'unproven', 'no fault', 'gone'];
  const count = (some, state) => some.filter(({ is }) => is === state).length;
  console.log(`\n| kind | faults | ${states.join(' | ')} |\n|${' --- |'.repeat(states.length + 2)}`);
  for (const kind of [...kinds, 'all']) {
    const some = results.filter(({ fault }) => kind === 'all' || fault.kind === kind);
    console.log(`| ${kind} | ${some.length} | ${states.map((state) => count(some, state)).join(' | ')} |`);
  }
  console.log(`${Math.round((Date.now() - began) / 1000)} s`);
  const open = results.filter(({ is }) => !['noticed', 'redundant'].includes(is));
  for (const result of open) console.log(lineOf(result));
  for (const { by, fault } of results) if (by !== undefined) fault.tests = [by];
  if (open.length > 0) process.exitCode = 1;
}
