import { expect, it } from 'vitest';
import { listed } from '../../src/requests/closed-list.ts';

it.each([
  [['name', 'links.website'], 'name, links.website'],
  [['name'], 'name'],
  [['name', 'description', 'xy'], 'name, description and 1 more'],
  [['name', 'descriptions_of', 'x', 'y'], 'name and 3 more'],
  [['a'.repeat(50), 'b'], `${'a'.repeat(40)}… and 1 more`],
  [[], ''],
])('%j is shortened by whole names', (names, text) => {
  expect(listed(names, 20)).toBe(text);
});
