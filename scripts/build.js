/** Builds the package into dist/: the command, the library with its types, the manual page and the licences. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'rolldown';

const require = createRequire(import.meta.url);
const root = join(import.meta.dirname, '..');
const out = join(root, 'dist');
/** A quick build has no types and larger files: for `npm run faults`, which builds for each fault. */
const isQuick = process.env.LEADPIPE_QUICK_BUILD === 'yes';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// cli-table3 would bring an older string-width, which measures Arabic, Thai, Hindi and new emoji differently.
const oneStringWidth = {
  name: 'one-string-width',
  resolveId: (id, importer = '') =>
    id === 'string-width' && importer.includes('cli-table3') ? join(root, 'scripts/string-width.cjs') : null,
};

const shared = {
  cwd: root,
  platform: 'node',
  plugins: [oneStringWidth],
  resolve: {
    alias: {
      // Only one of the two builds of undici's parser: this one runs everywhere.
      '../llhttp/llhttp_simd-wasm.js': require.resolve('undici/lib/llhttp/llhttp-wasm.js'),
      // The smaller of the server's two validators. Neither is used: arguments are checked in src/mcp.
      '@modelcontextprotocol/server/_shims': join(
        require.resolve('@modelcontextprotocol/server'),
        '../shimsBrowser.mjs',
      ),
    },
  },
  transform: {
    target: 'node20.18',
    define: {
      LEADPIPE_VERSION: JSON.stringify(version),
      // undici reads the first two, but the library must read nothing from the environment. With the third, conf would
      // write the key file in place.
      'process.env.JEST_WORKER_ID': 'undefined',
      'process.env.UNDICI_NO_WASM_SIMD': 'undefined',
      'process.env.SNAP': 'undefined',
    },
  },
};

// Bundlers may put the CommonJS packages into an ES module, which has no `require` for Node's own modules.
const builtins = {
  name: 'builtins',
  resolveId: (id, _, { kind }) => (kind === 'require-call' && isBuiltin(id) ? `\0builtin:${id}` : null),
  load: (id) =>
    id.startsWith('\0builtin:') ? `module.exports = process.getBuiltinModule('${id.slice(9)}');` : null,
};

// Packages that both the command and the library need: bundled once, as CommonJS, which Node 20 can load from either.
const packages = {
  'packages/agent': 'undici/lib/dispatcher/agent.js',
  'packages/connect': 'undici/lib/core/connect.js',
  'packages/ajv': 'ajv',
  'packages/ajv-2020': 'ajv/dist/2020.js',
};

// Names are kept, for readable stack traces in bug reports.
const minify = { mangle: { keepNames: true }, compress: true, codegen: true };

rmSync(out, { recursive: true, force: true });
// CommonJS: an ES module costs a quarter of Node's own start on Node 20. Split, so that a command loads what it needs.
const { output } = await build({
  ...shared,
  plugins: [oneStringWidth, builtins],
  external: ['@napi-rs/keyring'],
  input: { main: 'src/main.ts', 'keychain-main': 'src/keychain-main.ts', ...packages },
  preserveEntrySignatures: 'strict',
  output: {
    dir: out,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    // Starting Node's ES module loader takes longer than loading most of these chunks.
    dynamicImportInCjs: false,
    comments: false,
    minify,
  },
});
// Not minified: stack traces of other programs lead here.
const library = await build({
  ...shared,
  external: Object.values(packages),
  input: 'src/index.ts',
  output: {
    dir: out,
    format: 'esm',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: false,
    paths: Object.fromEntries(Object.entries(packages).map(([name, id]) => [id, `../${name}.cjs`])),
  },
});
// Temporary code that makes the help texts and the manual page from the commands.
const prepared = join(out, 'prepared.cjs');
await build({
  ...shared,
  input: 'scripts/prepared.ts',
  output: { file: prepared, format: 'cjs', codeSplitting: false },
});
for (const [name, text] of Object.entries(await require(prepared).prepare(version)))
  writeFileSync(join(out, name), text);
rmSync(prepared);
const tsc = require.resolve('typescript/package.json').replace('package.json', 'bin/tsc');
if (!isQuick)
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
const wasm = 'sqlite3.wasm';
cpSync(require.resolve(`@sqlite.org/sqlite-wasm/${wasm}`), join(out, 'chunks', wasm));
const leads = join(root, 'src/local-service/demonstration');
mkdirSync(join(out, 'chunks/demonstration'));
for (const file of readdirSync(leads))
  writeFileSync(
    join(out, 'chunks/demonstration', `${file}.br`),
    brotliCompressSync(readFileSync(join(leads, file)), {
      params: { [constants.BROTLI_PARAM_QUALITY]: isQuick ? 1 : constants.BROTLI_MAX_QUALITY },
    }),
  );
// Which files of src are in which file of the build, for the test of what a command loads; it is not published.
const sources = output.map(({ fileName, moduleIds = [] }) => [
  fileName,
  moduleIds.map((id) => relative(root, id)).filter((id) => id.startsWith('src')),
]);
writeFileSync(join(out, 'sources.json'), JSON.stringify(Object.fromEntries(sources)));
writeFileSync(join(out, 'THIRD-PARTY-LICENSES.txt'), toLicences([...output, ...library.output]));

/** The licence texts of all packages in the bundle. */
function toLicences(output) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds);
  const folders = modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8');
    return `== ${name} ${version} (${license})\n\n${text.trim()}`;
  });
  return `leadpipe contains these packages.\n\n${texts.join('\n\n')}\n`;
}
