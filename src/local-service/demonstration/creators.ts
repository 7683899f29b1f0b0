import type { StreamEntityType } from '../../contract/types.ts';
import type { CatalogueEntity } from '../catalogue-entity.ts';
import { firstName, personName } from './names.ts';
import { countryInText, phoneAnywhere, phoneIn } from './places.ts';
import { Random } from './random.ts';
import { fill, list, lookUp, rounded, slug, table, UniqueNames } from './text.ts';
import { laterTopics, type Topic, topics, type Voice, voices } from './topics.ts';

interface Platform {
  readonly type: StreamEntityType;
  readonly name: string;
  readonly linkKey: string;
  readonly address: string;
  readonly countedAs: 'subscribers' | 'followers';
  /** What an account is where the topic's own kinds do not apply. */
  readonly kinds: readonly string[];
  readonly postings: readonly string[];
  /** How much of the audience reacts to a post, in percent. */
  readonly engagement: readonly [number, number];
  readonly openings: readonly string[];
}

const platforms: readonly Platform[] = [
  {
    type: 'twitter_creator',
    name: 'X (Twitter)',
    linkKey: 'x_url',
    address: 'https://x.example/',
    countedAs: 'followers',
    kinds: ['writer', 'commentator', 'creator', 'voice'],
    postings: ['several posts a day', 'daily posts', 'one long thread a week', 'three threads a week'],
    engagement: [0.4, 4.5],
    openings: list(
      `
{Topic} {kind} from {theCountry} on X (Twitter). Writes threads in {language} about {one} and {other}.
Posts in {language} on X about {subject}, mostly {one}, with the odd thread on {other}. Lives in {theCountry}.
A(n) {topic} {kind} on Twitter, based in {theCountry}, tweeting in {language}: {one}, {other} and plenty of replies.
{name} is a(n) {topic} {kind} in {theCountry} whose {language} threads on X deal with {one} and {other}.
`,
      '\n',
    ),
  },
  {
    type: 'youtube_creator',
    name: 'YouTube',
    linkKey: 'youtube_url',
    address: 'https://youtube.example/@',
    countedAs: 'subscribers',
    kinds: [],
    postings: [
      'one video a week',
      'two videos a week',
      'one long video a month',
      'an episode every other week',
    ],
    engagement: [1.2, 8],
    openings: list(
      `
A(n) {topic} {kind} on YouTube from {theCountry}, in {language}. Expect {one} and {other}.
{Language}-speaking {topic} {kind} on YouTube, made in {theCountry}. Recent episodes look at {one} and {other}.
{Topic} {kind} in {language}, filmed in {theCountry}. On YouTube, {name} covers {one} and {other}.
YouTube {topic} {kind} by a small team in {theCountry}, spoken in {language}: {one}, {other} and answers to comments.
`,
      '\n',
    ),
  },
  {
    type: 'tiktok_creator',
    name: 'TikTok',
    linkKey: 'tiktok_url',
    address: 'https://tiktok.example/@',
    countedAs: 'followers',
    kinds: ['creator', 'enthusiast', 'storyteller'],
    postings: ['daily clips', 'four clips a week', 'two clips a day', 'a clip every weekend'],
    engagement: [2.5, 14],
    openings: list(
      `
{Topic} {kind} on TikTok from {theCountry}. Short clips in {language} about {one} and {other}.
One-minute TikTok videos in {language} on {subject}: {one}, {other}. Filmed in {theCountry}.
{name} makes {language} TikTok clips in {theCountry}, a(n) {topic} {kind} best known for videos on {one}; lately also {other}.
A(n) {topic} {kind} in {theCountry} with a dry sense of humour. TikToks in {language} cover {one} and {other}.
`,
      '\n',
    ),
  },
  {
    type: 'instagram_creator',
    name: 'Instagram',
    linkKey: 'instagram_url',
    address: 'https://instagram.example/',
    countedAs: 'followers',
    kinds: ['creator', 'influencer', 'blogger'],
    postings: [
      'daily stories and two reels a week',
      'three posts a week',
      'a carousel every Sunday',
      'reels on weekdays',
    ],
    engagement: [0.9, 7.5],
    openings: list(
      `
{Topic} {kind} on Instagram from {theCountry}, posting reels and carousels in {language} about {one} and {other}.
Instagram diary of a(n) {topic} {kind} in {theCountry}. Captions in {language}; reels on {one} and {other}.
{name} is a(n) {topic} {kind} in {theCountry} with {language} reels about {one} on Instagram, and carousels about {other}.
Carefully photographed {topic} posts from {theCountry} with long captions in {language}: {one}, {other}. An Instagram {kind} who answers every comment.
`,
      '\n',
    ),
  },
];

const audiences = list(
  `
About {count} {countedAs}, mostly {audience}.
Made for {audience}; {count} {countedAs} so far.
{Count} {countedAs} come back for {posting}.
An audience of {count} {countedAs}: {audience}.
{Posting}, {count} {countedAs}.
`,
  '\n',
);

/** platform | topic | kind | language | country | audience from | to | how many; an empty cell is any */
const clusters = table(`
YouTube | climate | podcast | | | 110000 | 1400000 | 14
YouTube | climate | podcast | | | 4000 | 90000 | 4
YouTube | home espresso | review channel | | | 6000 | 800000 | 14
YouTube | cooking | | Spanish | | 3000 | 48000 | 12
YouTube | machine learning | | English | | 20000 | 600000 | 6
X (Twitter) | climate | | German | Germany | 3000 | 200000 | 9
X (Twitter) | machine learning | | English | United States | 20000 | 600000 | 10
X (Twitter) | personal finance | | English | United Kingdom | 2000 | 150000 | 9
TikTok | skincare | | French | France | 8000 | 900000 | 10
TikTok | street food | | Spanish | Mexico | 10000 | 1500000 | 10
TikTok | second-hand fashion | | English | United Kingdom | 3000 | 95000 | 9
Instagram | trail running | | English | United Kingdom | 2000 | 95000 | 9
Instagram | interior design | | Swedish | Sweden | 5000 | 300000 | 9
Instagram | travel | | Portuguese | Brazil | 5000 | 900000 | 10
`);

/** Added later, with chances of their own, so that the accounts before stay as they are. */
const laterClusters = table(`
YouTube | vegan cooking | | | | 4000 | 900000 | 7
TikTok | vegan cooking | | | | 4000 | 900000 | 7
Instagram | vegan cooking | | | | 4000 | 900000 | 7
`);

const adjectives = list(
  'Slow,Quiet,Honest,Odd,Curious,Crooked,Sunday,Midnight,Backyard,Second,Patient,Rainy,Stubborn,Northern',
);
const shows = list('Hour,Diaries,Notes,Shed,Club,Weekly,Project,Corner,Almanac,Letters,Department');
const topicByLabel = new Map([...topics, ...laterTopics].map((topic) => [topic.label, topic]));
const english = voices.filter((voice) => voice.language === 'English');

interface Wanted {
  readonly topic: Topic;
  readonly kind?: string;
  readonly voice: Voice;
  readonly from: number;
  readonly to: number;
}

export function* makeCreators(totalPerPlatform: number): Generator<CatalogueEntity> {
  for (const platform of platforms) {
    const random = new Random(platform.type);
    const names = new UniqueNames();
    const handles = new UniqueNames();
    let made = 0;
    for (const cluster of clusters) {
      if (cluster(0) !== platform.name) continue;
      for (const wanted of wantedBy(cluster, random)) {
        made++;
        yield compose(platform, wanted, names, handles, random);
      }
    }
    for (; made < totalPerPlatform; made++) {
      const voice = random.pick(random.chance(0.4) ? english : voices);
      const wanted = { topic: random.pick(topics), voice, from: 1500, to: 1_900_000 };
      yield compose(platform, wanted, names, handles, random);
    }
    const later = new Random(`later ${platform.type}`);
    for (const cluster of laterClusters) {
      if (cluster(0) !== platform.name) continue;
      for (const wanted of wantedBy(cluster, later)) yield compose(platform, wanted, names, handles, later);
    }
  }
}

function* wantedBy(cluster: (typeof clusters)[number], random: Random): Generator<Wanted> {
  const fitting = voices.filter(
    (voice) =>
      (cluster(3) === '' || voice.language === cluster(3)) &&
      (cluster(4) === '' || voice.country === cluster(4)),
  );
  for (let count = Number(cluster(7)); count > 0; count--) {
    yield {
      topic: lookUp(topicByLabel, cluster(1)),
      kind: cluster(2),
      voice: random.pick(fitting),
      from: Number(cluster(5)),
      to: Number(cluster(6)),
    };
  }
}

function pageName(
  platform: Platform,
  topic: Topic,
  voice: Voice,
  random: Random,
): { shown: string; latin: string } {
  const branded = random.chance(platform.countedAs === 'subscribers' ? 0.8 : 0.4);
  if (!branded) return personName(voice.naming, random);
  if (voice.patterns.length > 0) {
    const first = firstName(voice.naming, random);
    return {
      shown: fill(random.pick(voice.patterns), { f: first }),
      latin: `${first} ${random.pick(topic.words)}`,
    };
  }
  const name = `${random.pick(adjectives)} ${random.pick(topic.words)} ${random.pick(shows)}`;
  return random.chance(0.5) ? { shown: `The ${name}`, latin: name } : { shown: name, latin: name };
}

function compose(
  platform: Platform,
  wanted: Wanted,
  names: UniqueNames,
  handles: UniqueNames,
  random: Random,
): CatalogueEntity {
  const { topic, voice } = wanted;
  let latin = '';
  const name = names.take((attempt) => {
    const page = pageName(platform, topic, voice, random);
    latin = page.latin;
    return attempt < 20 ? page.shown : `${page.shown} ${random.pick(topic.words)}`;
  });
  const handle = handles.take((attempt) => slug(latin, '_') + (attempt === 0 ? '' : `_${attempt + 1}`));
  const kind = wanted.kind || random.pick(platform.kinds.length > 0 ? platform.kinds : topic.kinds);
  const count = random.magnitude(wanted.from, wanted.to);
  const posting = random.pick(platform.postings);
  const [one, other] = random.pair(topic.matters);
  const values = {
    name,
    kind,
    topic: topic.label,
    subject: topic.subject,
    language: voice.language,
    country: voice.country,
    theCountry: countryInText(voice.country),
    one,
    other,
    audience: topic.audience,
    count: rounded(count),
    countedAs: platform.countedAs,
    posting,
  };
  const [lowest, highest] = platform.engagement;
  const site = handle.replaceAll('_', '-');
  return {
    entity_type: platform.type,
    entity: {
      name,
      links: {
        [platform.linkKey]: `${platform.address}${handle}`,
        ...(random.chance(0.45) && { website: `https://${site}.example` }),
      },
      description: `${fill(random.pick(platform.openings), values)} ${fill(random.pick(audiences), values)}`,
    },
    facts: {
      platform: platform.name,
      topic: topic.subject,
      format: kind,
      language: voice.language,
      country: voice.country,
      [platform.countedAs]: count,
      engagement_rate: Math.round((lowest + random.next() * (highest - lowest)) * 100) / 100,
      posting_frequency: posting,
      audience: topic.audience,
    },
    contact: {
      email: random.chance(0.7) ? `${random.pick(['hello', 'work', 'mail'])}@${site}.example` : null,
      phone: random.chance(0.4)
        ? voice.phone === ''
          ? phoneAnywhere(random)
          : phoneIn(voice.phone, random)
        : null,
    },
  };
}
