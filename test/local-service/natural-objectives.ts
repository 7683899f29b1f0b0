import type { EntityType } from '../../src/contract/types.ts';

/**
 * Objectives as people write them, in five languages, and what the facts of a lead must say for it to fit. Where nothing
 * stands there, the demonstration has no such leads, and nothing may be passed off as them.
 */
const table = `
company # Early-stage fintech startups in Berlin that are hiring # industry=fintech; city=Berlin
company # Cybersecurity scale-ups in Tel Aviv selling to banks # industry=cyber; city=Tel Aviv
company # Dental clinics in Austin, Texas that offer implants # industry=dental; city=Austin
company # Bootstrapped B2B SaaS companies in Portugal # country=Portugal
company # Robotics companies in Japan with more than 50 employees # industry=robotics; country=Japan
company # Law firms in Europe specialising in immigration law # industry=law firm
company # Logistics startups working on warehouse automation # specialty=warehouse automation
company # Companies that make batteries for drones in Oslo
person # Heads of marketing at seed-stage fintechs in Berlin # title=Head of Marketing; city=Berlin
person # Female founders in climate tech # gender=female; title=ounder; industry=climate
person # CTOs at healthtech companies in London with a Series A # title=CTO; industry=healthtech
person # People who run procurement at logistics companies # title=Procurement
person # Recruiters at gaming studios in Stockholm # title=Talent Acquisition
person # Investors in early-stage climate companies
youtube_creator # Climate podcasters with over 100k subscribers # topic=climate; format=podcast
youtube_creator # YouTubers who review espresso machines at home # topic=espresso
twitter_creator # People on X who write about machine learning in English # topic=machine learning
instagram_creator # Vegan food influencers in the UK # topic=vegan
tiktok_creator # TikTok accounts about thrifted and second-hand fashion # topic=second-hand
shopify_store # Shops selling natural wine with free shipping in France # product_category=wine
shopify_store # Stores for mechanical keyboards in Germany # product_category=keyboard
company # Junge Fintechs in Berlin, die gerade Geld aufgenommen haben # industry=fintech; city=Berlin
company # Zahnarztpraxen in Wien mit Implantologie # industry=dental; city=Vienna
company # Brauereien in Deutschland # industry=brewery; country=Germany
company # Anwaltskanzleien in Europa # industry=law firm
company # Robotik-Unternehmen in München mit mehr als 20 Mitarbeitern # industry=robotics; city=Munich
person # Geschäftsführer von Logistikfirmen in Rotterdam # title=CEO|Chief|Managing; city=Rotterdam
person # Vertriebsleiter in der Cybersicherheit in New York # title=VP of Sales; city=New York
person # Gründerinnen im Bereich Klima # gender=female; title=ounder; industry=climate
youtube_creator # Deutsche Kanäle über das Klima # topic=climate; language=German
instagram_creator # Reiseblogger aus Österreich # topic=travel
shopify_store # Onlineshops für nachhaltige Hautpflege in Frankreich # product_category=skincare
company # Startups fintech à Paris qui ont levé une série A # industry=fintech; city=Paris
company # Jeunes pousses de l'intelligence artificielle à San Francisco # city=San Francisco
company # Entreprises de biotechnologie à Boston fondées après 2015 # industry=biotech; city=Boston
company # Cabinets dentaires à Vienne # industry=dental; city=Vienna
person # Directeurs techniques de startups santé à Londres # title=CTO|Chief Tech; industry=healthtech
person # Fondatrices de startups à Lisbonne # gender=female; title=ounder; city=Lisbon
tiktok_creator # Créatrices françaises qui parlent de soins de la peau # topic=skincare; language=French
youtube_creator # Chaînes de cuisine avec plus de 50 000 abonnés # topic=cooking
shopify_store # Boutiques en ligne de chocolat artisanal # product_category=chocolate
company # Empresas de logística en Róterdam # industry=logistics; city=Rotterdam
company # Startups de ciberseguridad en Nueva York con más de 60 empleados # industry=cyber; city=New York
company # Clínicas dentales en Austin # industry=dental; city=Austin
company # Fintechs en Brasil # industry=fintech; country=Brazil
person # Directores de ventas de empresas de ciberseguridad # title=VP of Sales; industry=cyber
person # Diseñadores de producto en Estocolmo # title=Product Designer; city=Stockholm
youtube_creator # Canales de cocina en español con menos de 50.000 suscriptores # topic=cooking; language=Spanish
shopify_store # Tiendas de ropa de segunda mano # product_category=denim
company # ベルリンのフィンテック企業 # industry=fintech; city=Berlin
company # 東京のロボット会社で従業員50人以上 # industry=robotics; city=Tokyo
person # ロンドンのヘルステック企業のCTO # title=CTO; industry=healthtech
person # リスボンの女性起業家 # title=ounder; gender=female; city=Lisbon
youtube_creator # 気候変動についてのポッドキャスト、登録者10万人以上 # topic=climate
shopify_store # トレイルランニング用品のオンラインショップ # product_category=trail running
`;

/** Lines of `type # objective # …`. */
export function rowsOf(lines: string): [type: EntityType, objective: string, ...string[]][] {
  const rows = lines.trim().split('\n');
  return rows.map((line) => line.split(' # ') as [EntityType, string, ...string[]]);
}

/** Whether facts are as `name=pattern; name!pattern; name>number; name<=number` says. */
export function toFit(wanted = ''): (facts: Readonly<Record<string, string>>) => boolean {
  const tests = wanted.split('; ').map((one) => /^(\w+)(=|!|>|<=)(.*)$/.exec(one) ?? []);
  return (facts) =>
    tests.every(([, name = '', sign, than = '']) => {
      const value = facts[name] ?? '';
      if (sign === '>') return Number(value) > Number(than);
      if (sign === '<=') return Number(value) <= Number(than);
      return new RegExp(than).test(value) === (sign === '=');
    });
}

export const naturalObjectives = rowsOf(table).map(
  ([type, objective, facts]) => [type, objective, facts === undefined ? undefined : toFit(facts)] as const,
);
