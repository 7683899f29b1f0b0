/** Words of objectives, and what they are worth. */

export const stopWords = words(`
  a about across active all also am an and any are around as at based be been best big by can could currently do does
  every find for from get much many tell give good great has have having here how i in into is it its just know like list look looking
  made make makes making me more most my near new no not of off on one only operating or other our out over people per
  please recent recently run running search see seek seeking show similar some such than that the their them then there
  these they thing things this those to top up us use using very want was we well were what when where which who whose
  will with within work working works would you your month months week weeks year years day days last past today 30
  located headquartered focus focused focusing related specialised specialized area space sector field industry make
  hiring growing fast fastest leading promising emerging innovative successful popular famous great interesting relevant
  talk talks post posts cover covers sell sells selling offer offers offering provide provides providing`);

/** Words that only say which type is meant; for any type, since the type is chosen elsewhere. */
export const typeWords = words(`
  company companies business businesses startup startups firm firms person people professional professionals lead leads
  creator creators influencer influencers account accounts channel channels store stores shop shops youtuber youtubers
  tiktoker tiktokers instagrammer instagrammers twitter x youtube tiktok instagram shopify xiaohongshu wechat official
  profile profiles page pages handle handles entity entities`);

export const typeRuns = /小红书|微信|公众号|公眾號|博主|账号|帳號|达人|達人|创作者|创业公司|公司|企业|网红/g;
export const stopRuns =
  /的|在|和|与|與|或|有|找|寻找|关于|關於|推荐|做|我|们|是|了|及|等|位于|专注|最近|粉丝|超过|以上|大于|至少/g;

/** Other ways to say the same thing; each is also searched. */
export const aliases: Readonly<Record<string, readonly string[]>> = {
  us: ['united states', 'usa'],
  usa: ['united states', 'us'],
  american: ['united states', 'usa'],
  uk: ['united kingdom'],
  british: ['united kingdom', 'uk'],
  uae: ['united arab emirates'],
  nyc: ['new york'],
  sf: ['san francisco'],
  german: ['germany'],
  french: ['france'],
  spanish: ['spain'],
  italian: ['italy'],
  dutch: ['netherlands'],
  swedish: ['sweden'],
  indian: ['india'],
  chinese: ['china'],
  japanese: ['japan'],
  canadian: ['canada'],
  brazilian: ['brazil'],
  ecommerce: ['e commerce'],
  healthcare: ['health'],
  ml: ['machine learning'],
  ai: ['artificial intelligence'],
  vegan: ['plant based'],
  fashion: ['clothing', 'apparel'],
  clothes: ['clothing', 'apparel'],
  leader: ['head', 'director', 'vp', 'chief'],
  leaders: ['head', 'director', 'vp', 'chief'],
  dentist: ['dental'],
  dentists: ['dental'],
  ceo: ['chief executive'],
  cto: ['chief technology'],
  cfo: ['chief financial'],
  cmo: ['chief marketing'],
};

/** Second halves of compounds that say nothing of their own: "seed-stage", "Berlin-based". */
export const hyphenEndings = words('stage based led focused driven powered first friendly backed round');

/** What a table has under somebody's word. Every object inherits a `constructor` and the like: they are not in it. */
export function own<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter(Boolean));
}
