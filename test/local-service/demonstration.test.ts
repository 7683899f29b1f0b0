import { describe, expect, it } from 'vitest';
import { type EntityType, entityTypes } from '../../src/contract/types.ts';
import { demonstrationOf } from '../../src/local-service/demonstration.ts';

interface Lead {
  readonly entity_type: EntityType;
  readonly name: string;
  readonly links: Readonly<Record<string, string>>;
  readonly description: string;
  readonly facts: Readonly<Record<string, string | number>>;
  readonly email?: string;
  readonly phone?: string;
}

const { leads: found, read } = demonstrationOf(undefined);
const all: readonly Lead[] = found().map((_, at) => {
  const { entityType, name, links, description, facts, email, phone } = read(at + 1);
  const numbers = facts.map(([fact, text]) => [fact, /^\d+(\.\d+)?$/.test(text) ? Number(text) : text]);
  return {
    ...{ entity_type: entityType as EntityType, name, links: Object.fromEntries(links), description },
    facts: Object.fromEntries(numbers),
    ...(email !== null && { email }),
    ...(phone !== null && { phone }),
  };
});
const ofType = (type: EntityType) => all.filter((lead) => lead.entity_type === type);

describe('the demonstration catalogue', () => {
  const counts: Record<EntityType, number> = {
    person: 928,
    company: 936,
    twitter_creator: 300,
    youtube_creator: 307,
    tiktok_creator: 307,
    instagram_creator: 307,
    shopify_store: 500,
    xiaohongshu: 150,
    wechat: 150,
  };

  it.each(entityTypes)('has %s leads, each with a name and addresses of its own', (type) => {
    const leads = ofType(type);
    const names = leads.map(({ name }) => name);
    expect(names).toHaveLength(counts[type]);
    expect(new Set(names).size).toBe(names.length);
    // People share the address of their company.
    const pages = leads.flatMap(({ links }) =>
      type === 'person' ? links.linkedin_url : Object.values(links),
    );
    expect(new Set(pages).size).toBe(pages.length);
  });

  it.each(entityTypes)('gives every %s the same facts, and contacts to most', (type) => {
    const leads = ofType(type);
    const keys = Object.keys(leads[0]?.facts ?? {});
    for (const key of keys) expect(key).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
    for (const { facts } of leads) {
      expect(Object.keys(facts)).toEqual(keys);
      for (const value of Object.values(facts)) expect(value === '' || Number.isNaN(value)).toBe(false);
    }
    const share = (contact: 'email' | 'phone'): number =>
      leads.filter((lead) => lead[contact] !== undefined).length / leads.length;
    expect(Math.abs(share('email') - 0.7)).toBeLessThan(0.1);
    expect(Math.abs(share('phone') - 0.4)).toBeLessThan(0.1);
  });
});

it.each(['company', 'person'] as const)('a %s is said to be in its own city and in no other', (type) => {
  const cities = [...new Set(ofType(type).map((lead) => String(lead.facts.city)))];
  for (const lead of ofType(type)) {
    const text = lead.description;
    // Names of companies that share a stem are told apart by their city: that is the right one, too.
    expect(cities.filter((city) => text.includes(city))).toEqual([lead.facts.city]);
  }
});

describe('sense', () => {
  const headcounts: Record<string, [number, number]> = {
    bootstrapped: [2, 60],
    'pre-seed': [2, 10],
    seed: [4, 30],
    'Series A': [15, 90],
    'Series B': [50, 220],
    'Series C': [150, 550],
    'Series D': [300, 1200],
    public: [500, 10_000],
  };

  it.each(Object.entries(headcounts))('%s companies have a size to match', (stage, [low, high]) => {
    const companies = ofType('company').filter(({ facts }) => facts.funding_stage === stage);
    expect(companies.length).toBeGreaterThan(20);
    for (const { facts } of companies) {
      expect(facts.headcount).toBeGreaterThanOrEqual(low);
      expect(facts.headcount).toBeLessThanOrEqual(high);
      expect(facts.total_funding_usd === 0).toBe(stage === 'bootstrapped');
      expect(facts.founded_year).toBeLessThan(2026);
    }
  });

  it('employs people at companies of the catalogue, with addresses there', () => {
    const companies = new Map(ofType('company').map((lead) => [lead.name, lead]));
    for (const { facts, email } of ofType('person')) {
      const company = companies.get(String(facts.company));
      expect(company?.facts.city).toBe(facts.city);
      expect(company?.facts.industry).toBe(facts.industry);
      expect(company?.links.website).toBe(facts.company_website);
      if (email !== undefined) expect(facts.company_website).toBe(`https://www.${email.split('@')[1]}`);
    }
  });

  it('has an employer for every person once per title', () => {
    const positions = ofType('person').map(({ facts }) => `${facts.title} at ${facts.company}`);
    expect(new Set(positions).size).toBe(positions.length);
  });

  it('leaves nothing of the templates behind, and no slips of grammar', () => {
    for (const { name, description } of all) {
      const text = `${name} | ${description}`;
      expect(text).not.toMatch(
        /[{}]|undefined|NaN|a\(n\)| {2}|\.\.|\bin (?:United|Netherlands\b)|\b(\w{3,}) \1\b/,
      );
      expect(text).not.toMatch(/(?<!Series |\p{L})[aA] [aeioAEIO]\w/u);
      expect(text).not.toMatch(/(?<![\p{L}-])an [b-df-gj-np-tv-z]/u);
    }
  });

  it('has wide and accented letters in names', () => {
    for (const letters of [/\p{Script=Han}/u, /\p{Script=Hangul}/u, /\p{Script=Hiragana}/u, /[éüøłãñ]/]) {
      expect(all.some(({ name }) => letters.test(name))).toBe(true);
    }
  });
});

describe('safety', () => {
  it('has addresses on .example hosts only', () => {
    for (const lead of all) {
      const links = Object.values(lead.links);
      expect(links.length).toBeGreaterThan(0);
      for (const link of links) {
        const url = new URL(link);
        expect(url.protocol).toBe('https:');
        expect(url.hostname).toMatch(/^[a-z0-9.-]+\.example$/);
        expect(url.href.replace(/\/$/, '')).toBe(link);
      }
      if (lead.email !== undefined)
        expect(lead.email).toMatch(/^[a-z]+(?:\.[a-z]+)*@[a-z0-9]+(?:-[a-z0-9]+)*\.example$/);
    }
  });

  it('has phone numbers of the ranges kept for fiction only, in E.164', () => {
    const fictional = [
      /^\+1\d{3}55501\d{2}$/,
      /^\+44(?:2079460|1614960|1632960)\d{3}$/,
      /^\+49(?:3023125|8999998|4066969)\d{3}$/,
      /^\+33(?:19900|46571)\d{4}$/,
      /^\+468465004\d{2}$/,
      /^\+6125550\d{4}$/,
    ];
    for (const { phone } of all) {
      if (phone === undefined) continue;
      expect(phone).toMatch(/^\+[1-9]\d{7,14}$/);
      expect(fictional.filter((range) => range.test(phone))).toHaveLength(1);
    }
  });

  it('has no control characters, and text in its composed form', () => {
    const text = JSON.stringify(all);
    expect(text).not.toMatch(/\p{Cc}|\p{Cf}|\\u|\\[bfnrt]/u);
    expect(text.normalize('NFC')).toBe(text);
  });
});
