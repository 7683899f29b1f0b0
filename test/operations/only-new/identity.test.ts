import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKnown, type Identity, identityOf } from '../../../src/operations/only-new/identity.ts';

/** Ways in which a lead may have a link, beside that of the interface. */
const forms: readonly ((link: string) => unknown)[] = [
  (link) => [link],
  (link) => ({ website: [link] }),
  (link) => ({ social: { x: link } }),
  (link) => [{ type: 'website', url: link }],
  (link) => ({ type: 'website', url: link }),
  (link) => ({ website: { type: 'website', url: [link] }, x: null, y: '', more: [] }),
];

const known = (...leads: string[]) => createKnown(leads.map((lead) => identityOf(lead) as Identity));
const a =
  '{"name":"Acme","links":{"website":"https://www.acme.example/","linkedin_url":"https://l.example/acme"}}';

/** What was delivered, what arrives, and whether it is the same lead. */
const pairs: readonly [says: string, delivered: string, arrives: string, same: boolean][] = [
  ['itself', a, a, true],
  ['another score, description and order', a, `{"score":{"score":"9"},"description":"x",${a.slice(1)}`, true],
  ['one link more', '{"name":"Acme","links":{"website":"https://acme.example"}}', a, true],
  ['one link less', a, '{"name":"Acme","links":{"linkedin_url":"https://l.example/acme"}}', true],
  ['no links any more', a, '{"name":"Acme"}', true],
  ['links that are new', '{"name":"Acme","links":{}}', a, true],
  ['case, white space and form of the name', a, a.replace('Acme', ' ACME '), true],
  ['a composed and a decomposed é', '{"name":"Caf\\u00e9"}', '{"name":"Cafe\\u0301"}', true],
  [
    'scheme, www and slash of a link',
    '{"name":"A","links":{"x":"http://A.example"}}',
    '{"name":"A","links":{"y":"https://www.a.example/"}}',
    true,
  ],
  [
    'links that are one text',
    '{"name":"Acme","links":"https://acme.example"}',
    '{"name":"Acme","links":"https://acme.test"}',
    false,
  ],
  ['a namesake with other links', a, '{"name":"Acme","links":{"website":"https://acme.test"}}', false],
  [
    'another person of the same website',
    '{"name":"Ann","links":{"website":"https://a.example"}}',
    '{"name":"Ben","links":{"website":"https://a.example"}}',
    false,
  ],
  [
    'other video of the same path',
    '{"name":"A","links":{"x":"https://a.example/?v=1"}}',
    '{"name":"A","links":{"x":"https://a.example/?v=2"}}',
    false,
  ],
  ['another name', '{"name":"Acme"}', '{"name":"Acme Labs"}', false],
  ['a link alone', '{"links":{"x":"https://a.example"}}', '{"links":{"x":"https://a.example"}}', true],
  ['two links alone', '{"links":{"x":"https://a.example"}}', '{"links":{"x":"https://b.example"}}', false],
];

describe('a lead is known again', () => {
  it.each(pairs)('%s', (_, delivered, arrives, same) => {
    expect(known(delivered).isUnknown(identityOf(arrives) as Identity)).toBe(!same);
  });

  it.each(forms.map((form) => [JSON.stringify(form('https://…')), form] as const))(
    'by the link in %s, and not by its name alone',
    (_, form) => {
      const lead = (links: unknown): string => JSON.stringify({ name: 'John Smith', links });
      const isKnown = (delivered: unknown, arrives: unknown): boolean =>
        !known(lead(delivered)).isUnknown(identityOf(lead(arrives)));
      const [one, other] = ['https://a.example/john', 'https://b.example/john'];
      expect(isKnown(form(one), form(other))).toBe(false);
      expect(isKnown(form(one), form(one))).toBe(true);
      // The form may change from search to search.
      expect(isKnown(form(one), { website: one })).toBe(true);
      expect(isKnown({ website: one }, form(one))).toBe(true);
      expect(isKnown({ website: other }, form(one))).toBe(false);
      // Handles that are no addresses are links, too.
      expect(isKnown(form('john1'), form('john2'))).toBe(form === forms[4]);
      expect(isKnown(form('john1'), form('john1'))).toBe(true);
      expect(isKnown(form(one), {})).toBe(true);
      expect(identityOf(lead(form(one)))?.[1]).toBe(one);
    },
  );

  it('by the entry of a list that was written when only direct texts were links', () => {
    const handles = '{"name":"Ada","links":{"x":"ada1","tiktok":"ada2"}}';
    expect(identityOf(handles)).toEqual([
      'Ada',
      'ada1',
      'fdee430d40bd57deea',
      'a8466f6c9675605d3a',
      '565287a13080902188',
    ]);
    expect(identityOf(a)).toEqual([
      'Acme',
      'https://www.acme.example/',
      '822b33ad87c148a0a2',
      '93aad8885237081947',
      'a68fc5f5ff2b19f2cd',
    ]);
  });

  it('has links that are nested deeper than a stack', () => {
    const deep = (link: string) => `{"name":"A","links":${'['.repeat(1e6)}"${link}"${']'.repeat(1e6)}}`;
    expect(known(deep('https://a.example')).isUnknown(identityOf(deep('https://b.example')))).toBe(true);
    expect(known(deep('https://a.example')).isUnknown(identityOf(deep('https://a.example')))).toBe(false);
  });

  it('is never known without a name and links', () => {
    const nameless = ['{}', '{"name":""}', '{"name":" ","links":{"website":" "}}', '{"name":1,"links":[]}'];
    for (const lead of [...nameless, '[]', 'null']) expect(identityOf(lead)).toBeUndefined();
  });

  it('whatever it holds, it is known again, in little space', () => {
    const lead = fc.record({
      name: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 2000 }),
        fc.constant('x'.repeat(100_000)),
      ),
      links: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.webUrl(), fc.jsonValue()), { maxKeys: 40 }),
    });
    fc.assert(
      fc.property(lead, (one) => {
        const identity = identityOf(JSON.stringify(one));
        if (identity === undefined) return;
        expect(createKnown([JSON.parse(JSON.stringify(identity))]).isUnknown(identity)).toBe(false);
        expect(JSON.stringify(identity).length).toBeLessThan(3000);
      }),
    );
  });
});
