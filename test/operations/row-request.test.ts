import { describe, expect, it } from 'vitest';
import { rowRequestOf, toRowRequestText } from '../../src/operations/row-request.ts';
import { intentOf } from '../helpers/journals.ts';

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

  it.each([
    ['contact list', { contact_type: 'email', template: '{a}' }, { kind: 'contact', contact_type: 'email' }],
    ['research list', {}, { kind: 'research' }],
    ['enrich list', { schema: '{"type":"object"}' }, { kind: 'enrich', enrich_fields: { type: 'object' } }],
    ['extract list', { type: 'x_followers', limit: 5 }, { kind: 'extract', type: 'x_followers', limit: 5 }],
  ])('is known of a %s of the last release', (command, options, expected) => {
    expect(rowRequestOf(intentOf({ command, options }))).toMatchObject(expected);
  });

  it.each([
    ['enrich list', { schemaFile: '/home/you/schema.json' }],
    ['contact list', { contact_type: 'email', shard: 'auto/4' }],
    ['search', {}],
  ])('is not known of %s %j', (command, options) => {
    expect(rowRequestOf(intentOf({ command, options }))).toBeUndefined();
  });
});
