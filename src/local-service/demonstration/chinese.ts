import type { CatalogueEntity } from '../catalogue-entity.ts';
import { phoneAnywhere } from './places.ts';
import { Random } from './random.ts';
import { fill, list, rounded, table, UniqueNames } from './text.ts';

/** A Chinese word and what it means: written `护肤=skincare` in the tables. */
interface Glossed {
  readonly chinese: string;
  readonly english: string;
}

function glossed(text: string): Glossed {
  const [chinese = '', english = ''] = text.split('=');
  return { chinese, english };
}

/** topic | pinyin | matters | whom for */
const topics = table(`
护肤=skincare | hufu | 敏感肌修护=sensitive-skin repair; 防晒测评=sunscreen reviews; 成分解析=ingredient analysis; 油痘肌护理=acne care; 平价精华=affordable serums | 学生党和上班族=students and office workers
咖啡=coffee | kafei | 手冲教程=pour-over tutorials; 探店=café visits; 家用意式咖啡机测评=home espresso machine reviews; 精品豆推荐=specialty bean picks; 拉花练习=latte art | 咖啡新手=people new to coffee
露营=camping | luying | 轻量化装备=ultralight gear; 亲子营地=family campsites; 帐篷测评=tent reviews; 野餐料理=camp cooking; 徒步路线=hiking routes | 周末出城的人=weekend escapers
母婴=mother and baby | muying | 辅食食谱=baby food recipes; 绘本推荐=picture books; 待产包清单=hospital bag lists; 早教游戏=early-learning games; 睡眠引导=baby sleep | 新手爸妈=new parents
穿搭=outfits and fashion | chuanda | 通勤穿搭=office outfits; 小个子搭配=petite styling; 胶囊衣橱=capsule wardrobes; 古着改造=vintage upcycling; 国风日常=Chinese-style everyday wear | 通勤族=commuters
健身=fitness | jianshen | 居家力量训练=strength training at home; 减脂餐=fat-loss meals; 体态矫正=posture correction; 跑步计划=running plans; 普拉提入门=pilates for beginners | 久坐的上班族=people who sit all day
科技=tech | keji | 手机测评=smartphone reviews; 人工智能工具=AI tools; 数码收纳=gadget setups; 智能家居=smart home; 编程入门=programming for beginners | 数码爱好者=gadget fans
旅行=travel | lvxing | 小众古镇=little-known old towns; 火车旅行=train journeys; 民宿体验=guesthouse stays; 自驾路线=road trips; 海岛攻略=island guides | 假期不多的人=people with few days off
美食=food | meishi | 家常菜=home cooking; 街头小吃=street food; 烘焙配方=baking recipes; 一人食=meals for one; 火锅地图=hotpot maps | 爱吃的人=people who love to eat
家居=home decor | jiaju | 小户型改造=small-flat makeovers; 收纳技巧=storage tips; 租房布置=rental decorating; 灯光设计=lighting design; 二手家具=second-hand furniture | 租房青年=young tenants
读书=books | dushu | 长篇小说书评=novel reviews; 读书笔记=reading notes; 独立书店=independent bookshops; 历史书单=history reading lists; 诗歌=poetry | 睡前阅读的人=bedtime readers
宠物=pets | chongwu | 猫咪日常=life with cats; 狗狗训练=dog training; 宠物粮测评=pet food reviews; 领养故事=adoption stories; 异宠饲养=unusual pets | 新手铲屎官=first-time pet owners
理财=personal finance | licai | 基金定投=fund saving plans; 记账方法=budgeting; 保险入门=insurance basics; 存钱挑战=saving challenges; 养老规划=retirement planning | 刚工作的年轻人=young professionals
留学=study abroad | liuxue | 申请文书=application essays; 雅思备考=IELTS preparation; 奖学金=scholarships; 海外租房=renting overseas; 选校经验=choosing a university | 准备出国的学生=students going abroad
骑行=cycling | qixing | 公路车入门=road cycling basics; 城市通勤骑行=bike commuting; 骑行装备=cycling gear; 环湖路线=lakeside routes; 修车教程=bike repair | 城市骑友=urban riders
`).map((cell) => ({
  topic: glossed(cell(0)),
  pinyin: cell(1),
  matters: list(cell(2), ';').map(glossed),
  audience: glossed(cell(3)),
}));

const cities = list(
  '上海=Shanghai,北京=Beijing,成都=Chengdu,杭州=Hangzhou,广州=Guangzhou,深圳=Shenzhen,西安=Xi’an,武汉=Wuhan,南京=Nanjing,厦门=Xiamen,重庆=Chongqing,昆明=Kunming',
).map(glossed);

const nicknames = list(
  '小鹿=xiaolu,阿木=amu,晚晚=wanwan,豆豆=doudou,林间=linjian,阿柚=ayou,糯米=nuomi,南风=nanfeng,一只梨=yizhili,青禾=qinghe,木子=muzi,橘子汽水=juziqishui,云朵=yunduo,小满=xiaoman,北北=beibei,山月=shanyue,阿澈=ache,团子=tuanzi,夏至=xiazhi,松果=songguo',
).map(glossed);

interface Platform {
  readonly type: 'xiaohongshu' | 'wechat';
  readonly name: string;
  readonly linkKey: string;
  readonly address: string;
  /** `{nick}`, `{city}` and `{topic}`; `latin` is built from nickname and topic. */
  readonly names: readonly string[];
  readonly postings: readonly Glossed[];
  readonly descriptions: readonly string[];
}

const platforms: readonly Platform[] = [
  {
    type: 'xiaohongshu',
    name: 'Xiaohongshu (小红书)',
    linkKey: 'xiaohongshu_url',
    address: 'https://www.xiaohongshu.example/user/',
    names: list('{nick}的{topic}日记,{nick}爱{topic},{nick}{topic}笔记,{topic}少女{nick},{nick}在{city}'),
    postings: list('每天一篇=daily notes,每周三篇=three notes a week,周末更新=weekend notes').map(glossed),
    descriptions: list(
      `
{city}{topic}博主，分享{one}和{other}，写给{audience}。{posting}，粉丝约{count}。{TopicEn} creator on Xiaohongshu from {cityEn}: {oneEn} and {otherEn} for {audienceEn}; about {countEn} followers.
坐标{city}，记录{topic}日常：{one}、{other}。小红书粉丝{count}，{posting}。Xiaohongshu notes on {topicEn} from {cityEn}, with {oneEn} and {otherEn}; {countEn} followers.
不夸张的{topic}笔记：{one}、{other}，真实体验，适合{audience}。An honest {topicEn} blogger on Xiaohongshu in {cityEn} ({city}); covers {oneEn} and {otherEn}, {countEn} followers, {postingEn}.
`,
      '\n',
    ),
  },
  {
    type: 'wechat',
    name: 'WeChat (微信公众号)',
    linkKey: 'wechat_url',
    address: 'https://mp.weixin.example/',
    names: list(
      '{topic}研究社·{nick},{nick}聊{topic},{city}{topic}指南,{nick}{topic}周刊,{topic}慢生活·{nick}',
    ),
    postings: list(
      '每周两篇长文=two long articles a week,每日推送=daily posts,每月四期=four issues a month',
    ).map(glossed),
    descriptions: list(
      `
{topic}类微信公众号，来自{city}，主要写{one}与{other}，读者多为{audience}。{posting}，关注者约{count}。WeChat official account about {topicEn}, run from {cityEn}: {oneEn} and {otherEn} for {audienceEn}; about {countEn} followers.
{city}团队运营的{topic}公众号：{one}、{other}。{posting}。A WeChat account on {topicEn} by a small team in {cityEn}, with articles about {oneEn} and {otherEn}; {countEn} followers.
深度{topic}内容，{one}和{other}写得最多，写给{audience}。Long reads on {topicEn} for {audienceEn}, published on WeChat from {cityEn} ({city}); {oneEn} and {otherEn}; {countEn} followers, {postingEn}.
`,
      '\n',
    ),
  },
];

/** 8600, 12.8万. */
function chineseCount(count: number): string {
  return count < 10_000 ? String(count) : `${Math.round(count / 1000) / 10}万`;
}

export function* makeChinesePages(totalPerPlatform: number): Generator<CatalogueEntity> {
  for (const platform of platforms) {
    const random = new Random(platform.type);
    const names = new UniqueNames();
    const handles = new UniqueNames();
    for (let made = 0; made < totalPerPlatform; made++) {
      yield compose(platform, made, names, handles, random);
    }
  }
}

function compose(
  platform: Platform,
  index: number,
  names: UniqueNames,
  handles: UniqueNames,
  random: Random,
): CatalogueEntity {
  // In turn, so that every topic is there equally often.
  const subject = topics[index % topics.length];
  if (subject === undefined) throw new Error('no Chinese topics');
  const city = random.pick(cities);
  let nickname: Glossed = { chinese: '', english: '' };
  const name = names.take(() => {
    nickname = random.pick(nicknames);
    const values = { nick: nickname.chinese, city: city.chinese, topic: subject.topic.chinese };
    return fill(random.pick(platform.names), values);
  });
  const handle = handles.take(
    (attempt) => `${nickname.english}-${subject.pinyin}${attempt === 0 ? '' : attempt + 1}`,
  );
  const [one, other] = random.pair(subject.matters);
  const posting = random.pick(platform.postings);
  const followers = random.magnitude(1800, 1_200_000);
  const values = {
    topic: subject.topic.chinese,
    topicEn: subject.topic.english,
    city: city.chinese,
    cityEn: city.english,
    one: one.chinese,
    oneEn: one.english,
    other: other.chinese,
    otherEn: other.english,
    audience: subject.audience.chinese,
    audienceEn: subject.audience.english,
    posting: posting.chinese,
    postingEn: posting.english,
    count: chineseCount(followers),
    countEn: rounded(followers),
  };
  // Tags divide the words, for searches that do not know where a Chinese word ends.
  const tags = [subject.topic.chinese, one.chinese, other.chinese, city.chinese]
    .map((tag) => `#${tag}`)
    .join(' ');
  return {
    entity_type: platform.type,
    entity: {
      name,
      links: {
        [platform.linkKey]: `${platform.address}${handle}`,
        ...(random.chance(0.3) && { website: `https://${handle}.example` }),
      },
      description: `${fill(random.pick(platform.descriptions), values)} ${tags}`,
    },
    facts: {
      platform: platform.name,
      topic: `${values.topic} (${values.topicEn})`,
      language: 'Chinese',
      country: 'China',
      city: `${values.city} (${values.cityEn})`,
      followers,
      engagement_rate: random.integer(80, 1150) / 100,
      posting_frequency: posting.english,
      audience: values.audienceEn,
    },
    contact: {
      email: random.chance(0.7) ? `hezuo@${handle}.example` : null,
      phone: random.chance(0.4) ? phoneAnywhere(random) : null,
    },
  };
}
