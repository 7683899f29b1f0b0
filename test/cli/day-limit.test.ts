import { beforeEach, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';

/** `max_credits_per_day` counts the worst cases of all runs of this machine since midnight. */

let service: RowService;
let at: Machine;
beforeEach(async () => {
  service = await startRowService({ credits: 1000 });
  at = createMachine(service.url);
  await bought('config set price.contact.email 2');
  await bought('config set max_credits_per_day 10');
});

const bought = async (line: string) => expect(await at.leadpipe(line)).toMatchObject({ code: 0 });
const refused = async (line: string, ...says: string[]) =>
  expect(await at.leadpipe(line)).toMatchObject(
    ending(5, ...(says.length > 0 ? says : ['leadpipe config set max_credits_per_day'])),
  );
/** A list of so many rows. */
const list = (count: number): string => {
  at.write(`${count}.txt`, Array.from({ length: count }, (_, nth) => `p${nth}\n`).join(''));
  return `contact email --input ${count}.txt -q`;
};

it('counts single purchases, lists and what leaves no record together, and refuses the one above it', async () => {
  await bought('contact email a -q');
  await bought('contact email b -q --no-history');
  await refused(list(4));
  expect(service.charged.size).toBe(2);
  await bought(list(3));
  expect(service.charged.size).toBe(5);
  await refused(
    'contact email c -q',
    'leadpipe config set max_credits_per_day',
    'only 0 are left of the 10 for today',
    'charged: no',
  );
  expect(service.charged.size).toBe(5);
});

it('buys of what comes on standard input as many rows as are left of the day', async () => {
  await bought('contact email a -q');
  const stdin = 'p1\np2\np3\np4\np5\np6\n';
  expect((await at.leadpipe('contact email --input - -q', { stdin })).code).toBe(5);
  expect(service.charged.size).toBe(5);
});

it('is not passed by several runs at the same time', async () => {
  const runs = Array.from({ length: 8 }, (_, nth) => at.run(`contact email p${nth} -q`));
  const codes = (await Promise.all(runs)).map(({ code }) => code);
  expect(codes.sort()).toEqual([0, 0, 0, 0, 0, 5, 5, 5]);
  expect(service.charged.size).toBe(5);
});

it('refuses a preview of what it would refuse', async () => {
  await bought('contact email a -q');
  await bought(`${list(4)} --dry-run`);
  await refused(`${list(5)} --dry-run`);
  await bought('config set max_credits_per_day 3');
  await refused('contact email b --dry-run');
  expect(service.charged.size).toBe(1);
});

it('refuses what has no price, naming its setting', () => refused('contact phone a', 'price.contact.phone'));

it('buys nothing more on a day of which nobody knows what it has cost', async () => {
  await bought('config unset price.contact.email');
  await bought('config unset max_credits_per_day');
  await bought('contact email a -q');
  await bought('config set price.contact.email 2');
  await bought('config set max_credits_per_day 10');
  await refused('contact email b -q', 'had no known price');
  expect(service.charged.size).toBe(1);
});
