/** Words of objectives, in English and in German, that do not say what to find. */

export const stopWords = words(`
  a about across active all also am an and any are around as at based be been best big by can could currently closed do does
  every find for from get much many tell give good great has have having here how i in into is it its just know like list look looking
  made make makes making me more most my near new no not of off on one only operating or other our out over people per
  please raised recent recently round rounds run search see seek seeking show similar some such than that the their them then there
  these they thing things this those to top up us use using very want was we well were what when where which who whose
  will with within work working works would you your month months week weeks year years day days last past today now right ever 30
  located headquartered focus focused focusing related specialised specialized area sector field industry
  hiring growing fast fastest leading promising emerging innovative successful popular famous interesting relevant
  talk talks post posts cover covers sell sells selling offer offers offering provide provides providing

  aber alle als am an auf aus bei beim bitte das dem den der des die diese durch ein eine einem einen einer eines es
  finde finden für gibt gute guten haben hat ich im ist kennst liste man mehr mir mit nahe nach nähe oder rund sich sie
  sind sitz suche suchen über um und unser unter vom von was welche wer werden wie wo worden wurde wurden zeige zu zum zur zwischen`);

/** After these stands where something is, or at whom: what the catalogue does not know there can't be made up for. */
export const placeWords = words('in from near at around aus bei nahe');

export const orWords = words('or oder bzw');
export const andWords = words('and und sowie');

/** Words that only say which type is meant; for any type, since the type is chosen elsewhere. */
export const typeWords = words(`
  company companies business businesses startup startups start-up start-ups firm firms person people professional
  professionals lead leads creator creators influencer influencers blogger bloggers vlogger vloggers account accounts
  channel channels store stores shop shops brand brands seller sellers retailer retailers provider providers youtuber
  youtubers tiktoker tiktokers instagrammer instagrammers twitter x youtube tiktok instagram shopify xiaohongshu wechat
  official profile profiles page pages handle handles entity entities

  firma firmen unternehmen betrieb betriebe person personen leute menschen kanal kanäle konto konten profil profile
  laden läden geschäft geschäfte onlineshop onlineshops händler anbieter marke marken`);

export const typeRuns = /小红书|微信|公众号|公眾號|博主|账号|帳號|达人|達人|创作者|创业公司|公司|企业|网红/g;
export const stopRuns =
  /的|在|和|与|與|或|有|找|寻找|关于|關於|推荐|做|我|们|是|了|及|等|位于|专注|最近|粉丝|超过|以上|大于|至少/g;
/** "不在北京的…", "除了北京以外": what is not to be found. */
export const deniedRuns =
  /(?:不在|不是|除了)(?<denied>\p{Script=Han}+?)(?:以外|之外|的|(?=\P{Script=Han}|$))/gu;

/** Stands in the text for everything that denies what comes after it. */
export const denial = '¬';

/** What objectives say in more than one word, in its short form; ways to deny become the sign for them. */
export const rewordings: readonly (readonly [RegExp, string])[] = [
  [/\b(?:not|nicht) (?:only|just|nur)\b/giu, ' '],
  [
    /\b(?:other than|rather than|instead of|apart from|(?:with|but|and|have|has) no|(?:any|every)(?:where|thing|one) but|outside(?: of)?(?! sales)|not|nor|never|except(?: for)?|excluding|exclude|without|(?:is|are|do|does|have|has|was|were)n['’]t|nicht|ohne|kein(?:e[nrms]?)?|ausgenommen)\b|(?<!\p{L})auß(?:er|erhalb)(?: von)?\b/giu,
    ` ${denial} `,
  ],
  [/(^|,) ?no (?!code)/gi, `, ${denial} `],
  [/(?<![\p{L}-])non-(\p{Lu}[\p{L}.]*)/gu, ` ${denial} $1, `],
  // A verb, and not what somebody does in the mountains; a figure of speech, and not where satellites are.
  [/\brunning (?=(?:an?|the|their|its|on)\b)/gi, ' '],
  [/(?<=\p{L}) (?:space|scene)(?= (?:in|of|at|for|with|from)\b|\s*(?:$|[,.;]))/giu, ' '],
  // German says of whom, and what of, in one word.
  [/(?<!\p{L})(\p{L}+er)innen\b/giu, 'female $1'],
  [
    /(?<!\p{L})(\p{L}{3,})(kanal|kanäle|blogger|influencer|podcasts?|läden|geschäfte|firma|firmen|unternehmen|startups)\b/giu,
    '$1 $2',
  ],
];

/** Second halves of compounds that say nothing of their own: "seed-stage", "Berlin-based". */
export const hyphenEndings = words('stage based led focused driven powered first friendly backed round');

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter(Boolean));
}
