import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { python } from './parts.ts';

const script = `
import json, sys, pandas
text = dict(dtype=str, keep_default_na=False)
for name in sys.argv[1:]:
    if name.endswith('xlsx'):
        table = pandas.read_excel(name, **text)
    else:
        header = open(name, encoding='utf-8-sig').readline()
        sep = next((sep for sep in '\\t;' if sep in header), ',')
        table = pandas.read_csv(name, sep=sep, encoding='utf-8-sig', **text)
    print(json.dumps(table.to_dict('records')))
`;

/** The rows of files of CSV and of workbooks, all cells as texts. pandas must have nothing to warn of. */
export function readWithPandas(paths: readonly string[]): unknown[] {
  const { stdout, stderr } = spawnSync(python, ['-c', script, ...paths], { encoding: 'utf8' });
  expect(stderr).toBe('');
  // openpyxl leaves the escape that Excel has for an underscore.
  const lines = stdout.trimEnd().replaceAll('_x005F_', '_').split('\n');
  return lines.map((line) => JSON.parse(line));
}
