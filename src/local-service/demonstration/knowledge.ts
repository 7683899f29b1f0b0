import type { EntityType } from '../../contract/types.ts';
import type { Lead } from '../lead.ts';
import { list, table } from './text.ts';

interface Knowledge {
  readonly one: string;
  /** The facts that leads are found by, and how several of each are called. */
  readonly facts: readonly (readonly [fact: string, several: string])[];
  readonly example: string;
}

/** type | one of them | facts | example */
const knowledge: ReadonlyMap<string, Knowledge> = new Map(
  table(`
person | person | title=titles; industry=industries; city=cities | {title} in {city}
company | company | industry=industries; city=cities | {industry} in {city}
twitter_creator | creator on X | topic=topics; language=languages; country=countries | {topic} in {language}
youtube_creator | creator on YouTube | topic=topics; language=languages; country=countries | {topic} in {language}
tiktok_creator | creator on TikTok | topic=topics; language=languages; country=countries | {topic} in {language}
instagram_creator | creator on Instagram | topic=topics; language=languages; country=countries | {topic} in {language}
shopify_store | store | product_category=products; country=countries | {product_category} in {country}
xiaohongshu | account on Xiaohongshu | topic=topics; city=cities | {topic}, {city}
wechat | account on WeChat | topic=topics; city=cities | {topic}, {city}
`).map((cell) => {
    const facts = list(cell(2), ';').map((pair) => pair.split('=') as [string, string]);
    return [cell(0), { one: cell(1), facts, example: cell(3) }];
  }),
);

const mostNamed = 15;

/** What a search that found nothing might have looked for, line by line. */
export function whatIsKnown(type: EntityType, leads: readonly Lead[]): string[] {
  const known = knowledge.get(type);
  if (known === undefined) return [];
  const { one, facts, example } = known;
  let fitting = leads;
  const filled = example.replace(/\{(\w+)\}/g, (_, fact: string) => {
    const [commonest = ''] = commonestOf(fitting, fact);
    fitting = fitting.filter((lead) => lead.facts.get(fact) === commonest);
    return commonest;
  });
  return [
    `The demonstration has no ${one} that matches. It has:`,
    ...facts.map(([fact, several]) => `${several}: ${toList(commonestOf(leads, fact))}`),
    `For example: ${filled}`,
  ];
}

function commonestOf(leads: readonly Lead[], fact: string): string[] {
  const counts = new Map<string, number>();
  for (const { facts } of leads) {
    const value = facts.get(fact) ?? '';
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
}

function toList(values: readonly string[]): string {
  const more = values.length - mostNamed;
  // One more to name takes no more room than to say that there is one.
  return (more <= 1 ? values : [...values.slice(0, mostNamed), `${more} more`]).join(' · ');
}
