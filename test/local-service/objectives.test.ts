import { beforeAll, describe, expect, it } from 'vitest';
import { type EntityType, entityTypes, streamEntityTypes } from '../../src/contract/types.ts';
import { type FoundLead, type Running, running } from './running.ts';

/** What the demonstration finds, for objectives as people type them. */

type Found = FoundLead & { readonly facts: Readonly<Record<string, string>> };

const hints: string[] = [];
let service: Running;
beforeAll(async () => {
  service = await running({
    leads: 'demonstration',
    switches: { batch_size: 1000, opening_credits: 10_000_000, task_start_ms: 0, task_step_ms: 0 },
    hint: (line) => hints.push(line),
  });
});

const enrich_fields = ['title', 'industry', 'city', 'country', 'gender', 'seniority', 'funding_stage'];
enrich_fields.push('headcount', 'founded', 'topic', 'language', 'followers', 'subscribers', 'format');
enrich_fields.push('products', 'customers', 'product_category', 'business_model', 'specialty');

/** All that fits, with its facts, by a stream where there is one. */
async function find(entity_type: EntityType, objective: string): Promise<Found[]> {
  const asked = { entity_type, objective, limit: 400, enrich_fields };
  const byStream = streamEntityTypes.some((one) => one === entity_type);
  const found: FoundLead[] = byStream ? (await service.search(asked)).leads : await byTask(asked);
  return found.map((lead) => {
    const answers = Object.entries(lead.enrich_fields as Record<string, { content: string }>);
    return { ...lead, facts: Object.fromEntries(answers.map(([name, { content }]) => [name, content])) };
  });
}

async function byTask(asked: object): Promise<FoundLead[]> {
  const task = await service.json('createTask', { ...asked, enable_web_search: true });
  return (await service.json('fetch', { ...task, num: 500 })).entities;
}

/** Lines of `type # objective # …`. */
function rowsOf(lines: string): [type: EntityType, objective: string, ...string[]][] {
  const rows = lines.trim().split('\n');
  return rows.map((line) => line.split(' # ') as [EntityType, string, ...string[]]);
}

/** Whether facts are as `name=pattern; name!pattern; name>number; name<=number` says. */
function toFit(wanted = ''): (facts: Readonly<Record<string, string>>) => boolean {
  const tests = wanted.split('; ').map((one) => /^(\w+)(=|!|>|<=)(.*)$/.exec(one) ?? []);
  return (facts) =>
    tests.every(([, name = '', sign, than = '']) => {
      const value = facts[name] ?? '';
      if (sign === '>') return Number(value) > Number(than);
      if (sign === '<=') return Number(value) <= Number(than);
      return new RegExp(than).test(value) === (sign === '=');
    });
}

/** Minimum number of leads, and what must be true of each. */
const found = `
company # fintech in Berlin # 30 # industry=^fintech$; city=^Berlin$
company # seed-stage fintech in Berlin # 14 # industry=^fintech$; city=^Berlin$; funding_stage=^seed$
company # fintech startups in London that closed a Series A # 1 # industry=^fintech$; city=^London$; funding_stage=^Series A$
company # AI infrastructure startups in San Francisco with more than 50 employees # 8 # industry=^AI infrastructure$; city=^San Francisco$; headcount>50
company # AI-powered startups based in San Francisco # 8 # city=^San Francisco$
company # cybersecurity companies in New York # 12 # industry=^cybersecurity$; city=^New York$
company # robotics companies # 10 # industry=^robotics$
company # B2B SaaS in Amsterdam with 10-50 employees # 3 # business_model=B2B SaaS; city=^Amsterdam$; headcount<=50
company # law firms in Europe # 5 # industry=^law firm$
company # Nordlicht Pay # 1 # name=^Nordlicht Pay$
person # VP of Sales at cybersecurity companies in New York # 6 # title=^VP of Sales$; industry=^cybersecurity$; city=^New York$
person # heads of marketing at fintech companies in Berlin # 10 # title=^Head of Marketing$; industry=^fintech$; city=^Berlin$
person # CTOs of healthtech startups in London # 8 # title=CTO; industry=^healthtech$; city=^London$
person # senior product designers in Stockholm # 1 # title=^Senior Product Designer$; city=^Stockholm$
youtube_creator # climate podcasts on YouTube with over 100k subscribers # 8 # topic=^climate$; format=^podcast$; subscribers>100000
shopify_store # shopify stores for trail running # 20 # product_category=^trail running$
company # space tech startups # 8 # industry=^space tech$
company # companies in the fintech space # 60 # industry=^fintech$
company # the best new fast-growing fintech startups hiring in Berlin right now # 30 # industry=^fintech$; city=^Berlin$
person # founders in New York # 2 # title=ounder; city=^New York$
company # dental practices in Vienna # 0 # industry=^dental clinic$; city=^Vienna$
company # breweries in the UK # 1 # industry=^craft brewery$; country=^United Kingdom$
company # health tech in London # 20 # industry=^healthtech$; city=^London$
company # climate startups in Europe # 15 # industry=^climate tech$
company # accounting firms in Germany # 1 # industry=^accounting firm$; country=^Germany$
person # female founders in Lisbon # 8 # gender=^female$; title=ounder; city=^Lisbon$
person # male founders in Lisbon # 8 # gender=^male$; title=ounder; city=^Lisbon$
instagram_creator # vegan recipes # 5 # topic=^vegan (baking|cooking)$
tiktok_creator # vegan recipe creators # 4 # topic=^vegan (baking|cooking)$
youtube_creator # vegan recipes # 8 # topic=^vegan (baking|cooking)$
youtube_creator # home espresso reviewers # 10 # topic=^home espresso$
shopify_store # candle shops # 5 # product_category=^scented candles$
shopify_store # sustainable skincare brands in France # 10 # product_category=^sustainable skincare$; country=^France$
company # fintech startups in Berlin or Munich # 31 # industry=^fintech$; city=^(Berlin|Munich)$
company # fintechs in Berlin, Munich and Hamburg # 33 # industry=^fintech$; city=^(Berlin|Munich|Hamburg)$
company # fintech in Berlin, Germany # 30 # industry=^fintech$; city=^Berlin$
company # biotech, robotics or gaming companies in Tokyo # 10 # industry=^(biotech|robotics|gaming)$; city=^Tokyo$
person # CFOs or COOs of fintechs # 2 # title=CFO|COO; industry=^fintech$
xiaohongshu # 咖啡博主 # 8 # topic=咖啡
company # Series B climate tech companies in Amsterdam # 8 # industry=^climate tech$; city=^Amsterdam$; funding_stage=^Series B$
company # logistics companies in Rotterdam founded after 2015 # 8 # industry=^logistics$; city=^Rotterdam$; founded>2015
company # cybersecurity startups in Tel Aviv # 12 # industry=^cybersecurity$; city=^Tel Aviv$
person # product designers in Stockholm # 10 # title=Product Designer$; city=^Stockholm$
person # founders in Lisbon # 12 # title=ounder; city=^Lisbon$
youtube_creator # Spanish cooking channels under 50k subscribers # 10 # topic=cooking$|street food; language=^Spanish$; subscribers<=49999
twitter_creator # German climate accounts on X # 8 # topic=^climate$; language=^German$
tiktok_creator # French skincare creators on TikTok # 8 # topic=^skincare$; language=^French$
shopify_store # specialty coffee subscriptions # 12 # product_category=^specialty coffee subscriptions$
`;

/** What there is of each of the two Chinese types, in its own words. */
const chinese = ['护肤', '咖啡', '露营', '母婴', '穿搭', '健身', '科技', '旅行']
  .flatMap((topic) => ['xiaohongshu', 'wechat'].map((type) => `${type} # ${topic} # 8 # topic=^${topic} `))
  .join('\n');

/** The catalogue has less than half of it. */
const nothing = `
company # quantum plumbing
company # quantum plumbing in Berlin
company # blockchain startups
company # fintech in Berlin with over 1M employees
person # astronauts
youtube_creator # climate podcasts with over 100M subscribers
tiktok_creator # constructor toString __proto__
`;

describe('an objective finds what it says, and nothing else', () => {
  it.each(rowsOf(`${found.trim()}\n${chinese}`))('%s: %s', async (type, objective, atLeast, facts) => {
    const leads = await find(type, objective);
    const isFit = toFit(facts);
    const odd = leads.filter(({ name, description, facts }) => !isFit({ name, description, ...facts }));
    expect(odd.map(({ name, description, score }) => ({ name, description, score }))).toEqual([]);
    expect(leads.length).toBeGreaterThanOrEqual(Number(atLeast));
  });

  it.each(rowsOf(nothing))('%s: %s finds nothing', async (type, objective) => {
    expect(await find(type, objective)).toEqual([]);
  });
});

/** No lead matches everything: those that match at least half come, with a reason that says what is missing. */
const most = `
company # fintech in Amsterdam # industry=^fintech$ # matches fintech; lacks Amsterdam
company # law firms in London # industry=^law firm$ # matches law firms; lacks London
company # fintech in Atlantis # industry=^fintech$ # matches fintech; lacks Atlantis
person # VP of Sales at cybersecurity companies in Atlantis # title=^VP of Sales$; industry=^cybersecurity$ # matches VP of Sales, cybersecurity; lacks Atlantis
company # Series F fintech in Berlin # industry=^fintech$; city=^Berlin$ # matches fintech, Berlin; lacks Series F
youtube_creator # quantum climate podcasts with over 100k subscribers # topic=^climate$; format=^podcast$; subscribers>100000 # matches climate, podcasts, subscribers
`;

it.each(rowsOf(most))('where nothing has all of it, %s: %s', async (type, objective, facts, reason) => {
  const leads = await find(type, objective);
  expect(leads.length).toBeGreaterThan(3);
  const [first] = leads;
  expect(toFit(facts)(first?.facts ?? {})).toBe(true);
  expect(first?.score.reason).toContain(reason);
  // Every one of them says what is missing.
  for (const { score } of leads) {
    expect(score.reason).toContain('; lacks ');
    expect(Number(score.score)).toBeLessThan(0.8);
  }
  // What has less comes later.
  const scores = leads.map(({ score }) => Number(score.score));
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
});

describe('scores', () => {
  it('are lower for what is missing than for what is there, and a place weighs less than a kind', async () => {
    const leads = await find('company', 'law firms in London');
    const kinds = leads.map(({ facts }) => facts.industry === 'law firm');
    const firstOther = kinds.indexOf(false);
    expect(firstOther).toBeGreaterThan(5);
    expect(kinds.slice(firstOther)).not.toContain(true);
    expect(leads[firstOther]?.facts.city).toBe('London');
    expect(leads[firstOther]?.score.reason).toBe('matches London; lacks law firms');
    const [whole] = await find('company', 'law firms');
    expect(Number(whole?.score.score)).toBeGreaterThan(Number(leads[0]?.score.score) + 0.3);
  });

  it('name what matched, in the words of the objective', async () => {
    const [lead] = await find('company', 'Dental clinics in Vienna, no more than 20 employees, UK');
    expect(lead?.score.reason).toMatch(
      /^matches Dental clinics, Vienna, headcount \d+ \(no more than 20\); lacks UK$/,
    );
    // In text without spaces, what is no kind and no place of the catalogue says nothing.
    const [coffee] = await find('xiaohongshu', '上海的咖啡博主');
    expect(coffee?.score.reason).toMatch(/^matches 上海, 咖啡$/);
  });
});

describe('a search that finds nothing', () => {
  it.each(entityTypes)(
    'says what the demonstration knows of %s, and its example finds leads',
    async (type) => {
      hints.length = 0;
      expect(await find(type, 'zzqx kwyjibo')).toEqual([]);
      expect(hints[0]).toMatch(/^The demonstration has no \w+.* that matches\. It has:$/);
      expect(hints.length).toBeGreaterThan(3);
      const example = /^For example: (.+)$/.exec(hints.at(-1) ?? '')?.[1] ?? '';
      hints.length = 0;
      expect((await find(type, example)).length).toBeGreaterThan(1);
      expect(hints).toEqual([]);
    },
  );

  it('is silent where there is nothing to say: all that fits is excluded', async () => {
    hints.length = 0;
    const asked = { objective: 'Nordlicht Pay', dedup_custom_leads: ['Nordlicht Pay'] };
    expect((await service.search(asked)).leads).toEqual([]);
    expect(hints).toEqual([]);
  });
});
