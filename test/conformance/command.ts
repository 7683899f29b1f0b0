import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isObject } from '../../src/json/object.ts';
import { toTerminalText } from '../../src/output/clean.ts';
import { isLoopback, toBaseUrl } from '../../src/requests/address.ts';
import { flawOfKey } from '../../src/requests/api-key.ts';
import { createMask } from '../../src/transport/mask.ts';
import { runRows } from './interpreter.ts';
import { costAtMost } from './row.ts';
import { rows as all } from './rows/index.ts';
import { type Keys, keysOfLocalService, keyTable, toJson } from './service.ts';

const usage = `Usage: npm run conformance -- <base-url> [--only <rows>] [--keys <file>] [--yes]

Checks whether a service follows the interface. It sends valid and invalid requests, and compares the answers with the rules.
  --only <rows>   only the rows whose names begin with this, such as fetch/ or fetch/count
  --keys <file>   a JSON file with API keys: {"main":"…","other":"…"}; a row whose key is missing is skipped
  --yes           spend the credits; without it, only a service on this machine is sent what costs

Keys:
${Object.entries(keyTable)
  .map(([name, [, meaning]]) => `  ${name.padEnd(13)} ${meaning}`)
  .join('\n')}
No other program may use the account of the main key during the check: some rows compare balances.
For a service on this machine the keys are those of the local service, unless --keys has others. It should be started
with --set opening_credits=9000.
Exit codes: 0 no row failed, 1 a row failed or there is no answer, 2 nothing was sent.`;

/** Checks a service, and returns the exit code. `say` gets what is not a result. */
export async function run(
  args: readonly string[],
  print: (line: string) => void,
  say: (line: string) => void,
): Promise<number> {
  const refuse = (why: string): number => {
    say(why);
    return 2;
  };
  let keys: Keys | undefined;
  let url: URL;
  let options: ReturnType<typeof parse>['values'];
  try {
    const parsed = parse(args);
    options = parsed.values;
    const [address] = parsed.positionals;
    if (address === undefined) return refuse(usage);
    url = toBaseUrl(address, 'from the command line');
    keys = options.keys === undefined ? undefined : readKeys(options.keys);
  } catch (error) {
    return refuse(`${(error as Error).message}\n\n${usage}`);
  }
  const isHere = isLoopback(url.hostname);
  const { only = '', yes = false } = options;
  const rows = all.filter(({ id }) => id.startsWith(only));
  if (rows.length === 0) return refuse(`--only: no row begins with ${only}`);
  const cost = [...costAtMost(rows)]
    .map(([unit, count]) => `${count} ${unit}${count === 1 ? '' : 's'}`)
    .join(', ');
  if (cost !== '') {
    say(`This can cost at most: ${cost}. A service that accepts what it should refuse may charge more.`);
    if (!yes && !isHere) return refuse('Nothing was sent. To run it and spend the credits, add --yes.');
  }
  if (isHere) keys ??= keysOfLocalService;
  if (keys === undefined) return refuse('--keys <file> is missing: it has the API key "main".');
  const masks = Object.values(keys).map(createMask);
  const shown = (text: string): string => toTerminalText(masks.reduce((rest, mask) => mask(rest), text));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    for await (const { row, rule, result, got, requestId } of runRows(rows, {
      baseUrl: url,
      keys,
      pollMs: isHere ? 50 : 1000,
    })) {
      counts[result] += 1;
      print(`${result.padEnd(8)} ${row}`);
      if (result !== 'passed')
        print(shown(`         ${rule}: ${got}${requestId === null ? '' : ` (${requestId})`}`));
    }
  } catch (error) {
    say(shown(`The check ended: ${(error as Error).message}`));
    return 1;
  }
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed === 0 ? 0 : 1;
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { only: text, keys: text, yes: { type: 'boolean' } },
  });
}

/** Reads the file of --keys. Throws, and never quotes a key. */
function readKeys(file: string): Keys {
  const value = toJson(readFileSync(file, 'utf8'));
  if (!isObject(value)) throw new Error(`--keys: ${file} is not a JSON object`);
  for (const [name, key] of Object.entries(value)) {
    if (!Object.hasOwn(keyTable, name)) throw new Error(`--keys: ${file} has an unknown name: ${name}`);
    if (typeof key !== 'string' || flawOfKey(key) !== undefined)
      throw new Error(`--keys: ${file} has no API key as "${name}"`);
  }
  if (typeof value.main !== 'string') throw new Error(`--keys: ${file} has no API key as "main"`);
  return value as Keys;
}
