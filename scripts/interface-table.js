/**
 * Makes docs/interface.md: every rule of the interface, with the places that hold it. The rules stand in
 * interface-rules.txt beside this: `id | parts that must hold it | rows of the suite, by how they begin | the rule`.
 * A place is a comment `// rule: <id>, <id>` beside the code; in src/contract it counts for client and service.
 * With --check it writes nothing, and ends with 1 where the table is not the one on the disk.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');

export function readRules() {
  let section = '';
  const rules = [];
  for (const line of readFileSync(join(root, 'scripts/interface-rules.txt'), 'utf8').split('\n')) {
    if (line.startsWith('# ')) section = line.slice(2);
    else if (line !== '') {
      const [id, parts, rows, rule] = line.split(' | ');
      const list = (text) => (text === '-' ? [] : text.split(' '));
      rules.push({ id, section, rule, parts: list(parts), rows: list(rows) });
    }
  }
  return rules;
}

/** The files that hold a rule, by part and ID. */
export function readMarks() {
  const marks = { client: new Map(), service: new Map() };
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const file = relative(join(root, 'src'), join(entry.parentPath, entry.name)).replaceAll('\\', '/');
    const [room] = file.split('/');
    const parts =
      room === 'contract' ? ['client', 'service'] : [room === 'local-service' ? 'service' : 'client'];
    for (const [, ids] of readFileSync(join(root, 'src', file), 'utf8').matchAll(/\/\/ rule: (.+)$/gm)) {
      for (const id of ids.split(', '))
        for (const part of parts) marks[part].set(id, [...(marks[part].get(id) ?? []), file]);
    }
  }
  return marks;
}

export function toTable(rules, marks) {
  const lines = ['# The interface, and who holds it', ''];
  lines.push(
    'Every rule of the interface description, in its order, with the files under `src/` that hold it in the client and in the',
    'local service, and the rows of `test/conformance` that try it. Made by `node scripts/interface-table.js`.',
  );
  let section = '';
  for (const { id, section: own, rule, parts, rows } of rules) {
    if (own !== section)
      lines.push(
        '',
        `## ${own}`,
        '',
        '| rule | client | local service | rows |',
        '| --- | --- | --- | --- |',
      );
    section = own;
    const files = (part) =>
      [...new Set(marks[part].get(id) ?? [])]
        .sort()
        .map((file) => `\`${file}\``)
        .join(', ') || (parts.includes(part) ? '' : '–');
    const tried = rows.map((row) => `\`${row}${row.endsWith('-') ? '…' : ''}\``).join(', ') || '–';
    lines.push(`| ${rule} | ${files('client')} | ${files('service')} | ${tried} |`);
  }
  return `${lines.join('\n')}\n`;
}

const path = join(root, 'docs/interface.md');
if (process.argv[1] === import.meta.filename) {
  const [rules, marks] = [readRules(), readMarks()];
  const table = toTable(rules, marks);
  for (const { id, parts } of rules)
    for (const part of parts) if (!marks[part].has(id)) console.error(`no mark in the ${part}: ${id}`);
  if (!process.argv.includes('--check')) writeFileSync(path, table);
  else if (readFileSync(path, 'utf8') !== table) process.exitCode = 1;
}
