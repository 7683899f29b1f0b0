import { describe, expect, it } from 'vitest';
import { toRowRequestText } from '../../src/operations/order-digests.ts';

describe('what the rows of a list are sent', () => {
  it('is the same text for what sends the same', () => {
    const type = 'x_followers';
    expect(toRowRequestText({ kind: 'extract', type })).toBe(
      toRowRequestText({ limit: 100, template: undefined, type, kind: 'extract' }),
    );
    const page = { kind: 'extract', type: 'web2list', instruction: 'names' } as const;
    expect(toRowRequestText(page)).toBe(toRowRequestText({ ...page, instruction: ' names ', limit: 7 }));
    expect(toRowRequestText({ kind: 'research' })).not.toBe(
      toRowRequestText({ kind: 'research', template: '{a}' }),
    );
  });
});
