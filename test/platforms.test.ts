import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { leftOutOn } from './helpers/platforms.ts';

const root = join(import.meta.dirname, '..');

describe('what is left out on other systems', () => {
  it.each(['darwin', 'win32'] as const)('is named by what is there (%s)', (platform) => {
    const named = leftOutOn(platform).flatMap((pattern) => {
      const [, before = '', names, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
      return names?.split(',').map((name) => before + name + after) ?? [pattern.replace(/\/\*\*$/, '')];
    });
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('is nothing on Linux', () => expect(leftOutOn('linux')).toEqual([]));
});
