/**
 * What the words of an objective mean, in English, German, French, Spanish and, where there are no spaces, Japanese
 * and Chinese: which say nothing, which name the type, and which say the same as others.
 */

/** They do not say what to find. */
export const stopWords = words(`
  a about across active all also am an and any are around as at based be been best big by can could currently closed do does
  every find for from get much many tell give good great has have having here how i in into is it its just know like list look looking
  made make makes making me more most my near new no not of off on one only operating or other our out over people per
  please raised recent recently round rounds run search see seek seeking show similar some such than that the their them then there
  these they thing things this those to top up us use using very want was we well were what when where which who whose need
  will with within work working works would you your month months week weeks year years day days last past today now right ever 30
  write writes writing located headquartered focus focused focusing related specialised specialized specialising specializing area sector field industry
  hiring growing fast fastest leading promising emerging innovative successful popular famous interesting relevant
  talk talks talking post posts posting cover covers covering sell sells selling offer offers offering provide provides providing
  free young build builds building called named help helps helping serve serves serving run runs speaking written early-career

  aber alle als am an auf aus bei beim bitte das dem den der des die diese durch ein eine einem einen einer eines es
  finde finden für gibt gute guten haben hat ich im ist kennst liste man mehr mir mit nahe nach nähe oder rund sich sie
  sind sitz suche suchen über um und unser unter vom von was welche wer werden wie wo worden wurde wurden zeige zu zum zur zwischen
  junge jungen junger jung bereich branche deren dessen gerade neue neuen verkaufen verkauft anbieten arbeiten arbeitet sprechen bauen baut entwickeln

  à a au aux avec ce ces chez cherche chercher dans de des du elle en entre est et font il ils je la le les leur leurs mais
  nos notre nous on ou où par parle parlent pas pour près plus puis qui que quels quelles sa se ses si son sont sous sur très trouve
  trouver trouvez un une vend vendent vous y basé basée basés basées situé située situés spécialisé spécialisée spécialisés
  spécialisées fait fondé fondée ont levé levée levées domaine secteur région jeune jeunes nouveaux nouvelles meilleur meilleurs meilleures

  al busca buscar busco como con cual cuales de del desde donde el ella ellos en encuentra encontrar entre es esta este están
  están hay la las lo los más me mejor mejores mi muy necesito nuestra nuestro o para pero por porque que quien quienes quiero se sede
  ser si sobre son su sus también tiene tienen trabaja trabajan un una unas uno unos vende venden y ya e u hablan habla
  basada basadas basado basados ubicada ubicadas ubicado ubicados especializada especializadas especializado especializados
  han recaudado levantado ámbito nuevas nuevos jóvenes joven`);

export const orWords = words('or oder bzw ou o u');
export const andWords = words('and und sowie et y e');

/** They only say which type is meant; for any type, since the type is chosen elsewhere. */
export const typeWords = words(`
  company companies business businesses startup startups start-up start-ups scaleup scaleups scale-up scale-ups firm firms person people professional
  professionals lead leads creator creators influencer influencers blogger bloggers vlogger vloggers account accounts
  channel channels store stores shop shops brand brands seller sellers retailer retailers provider providers youtuber
  youtubers tiktoker tiktokers instagrammer instagrammers twitter x youtube tiktok instagram shopify xiaohongshu wechat
  official profile profiles page pages handle handles entity entities supplier suppliers vendor vendors manufacturer manufacturers studio studios expert experts

  firma firmen unternehmen betrieb betriebe person personen leute menschen kanal kanäle konto konten profil profile
  laden läden geschäft geschäfte onlineshop onlineshops händler anbieter marke marken hersteller experten

  entreprise entreprises société sociétés jeunes pousses pousse personne personnes gens professionnels chaîne chaînes compte comptes
  créateur créateurs créatrice créatrices influenceur influenceurs influenceuse influenceuses boutique boutiques magasin magasins
  marque marques commerce commerces ligne fournisseur fournisseurs cabinet cabinets

  empresa empresas compañía compañías negocio negocios emergentes persona personas gente profesionales canal canales cuenta cuentas
  creador creadores creadora creadoras tienda tiendas marca marcas línea proveedor proveedores clínica clínicas`);

/** The same without spaces, Chinese and Japanese. */
export const typeRuns =
  /小红书|微信|公众号|公眾號|博主|账号|帳號|达人|達人|创作者|创业公司|公司|企业|网红|スタートアップ|ベンチャー|企業|会社|チャンネル|クリエイター|インフルエンサー|ユーチューバー|ブロガー|ショップ|ストア|オンライン|ブランド|店舗|お店|アカウント/g;
export const stopRuns =
  /的|在|和|与|與|或|有|找|寻找|关于|關於|推荐|做|我|们|是|了|及|等|位于|专注|最近|粉丝|超过|以上|大于|至少|以下|未満|登録者数?|従業員数?|人|名|万|専門|拠点|向け|系|店|屋|氏|用品|商品|販売|関連|分野|業界|地域|\p{Script=Hiragana}+/gu;
/** "不在北京的…", "除了北京以外", "東京以外の…": what is not to be found. */
export const deniedRuns =
  /(?:不在|不是|除了)(?<denied>\p{Script=Han}+?)(?:以外|之外|的|(?=\P{Script=Han}|$))|(?<![\p{Script=Han}\p{Script=Katakana}ー])(?<other>[\p{Script=Han}\p{Script=Katakana}ー]{1,20}?)以外の?/gu;

/** Stands in the text for everything that denies what comes after it. */
export const denial = '¬';

/** What objectives say in more than one word, in its short form; ways to deny become the sign for them. */
export const rewordings: readonly (readonly [RegExp, string])[] = [
  [/(?<!\p{L})(?:[dlnmtscj]|qu)['’](?=\p{L})/giu, ' '],
  [/\b(?:not|nicht) (?:only|just|nur)\b/giu, ' '],
  [
    /\b(?:other than|rather than|instead of|apart from|(?:with|but|and|have|has) no|(?:any|every)(?:where|thing|one) but|outside(?: of)?(?! sales)|not|nor|never|except(?: for)?|excluding|exclude|without|(?:is|are|do|does|have|has|was|were)n['’]t|nicht|ohne|kein(?:e[nrms]?)?|ausgenommen|hors(?: de)?|sauf|sans|excepto|salvo|sin|fuera de)\b|(?<!\p{L})(?:auß(?:er|erhalb)(?: von)?|en dehors de|pas (?:à|en|au|aux)|que no (?:están?|sean?))(?!\p{L})/giu,
    ` ${denial} `,
  ],
  [/(^|,) ?no (?!code)/gi, `, ${denial} `],
  [
    /\b(?:raised|raising) (?:money|funds|capital)\b|\bgeld (?:aufgenommen|bekommen)\b|\bdes fonds\b|\bfondos\b/giu,
    ' ',
  ],
  [/(?<![\p{L}-])non-(\p{Lu}[\p{L}.]*)/gu, ` ${denial} $1, `],
  // A verb, and not what somebody does in the mountains; a figure of speech, and not where satellites are.
  [/\brunning (?=(?:an?|the|their|its|on)\b)/gi, ' '],
  [/(?<=\p{L}) (?:space|scene)(?= (?:in|of|at|for|with|from)\b|\s*(?:$|[,.;]))/giu, ' '],
  // German says of whom, and what of, in one word.
  [/(?<!\p{L})(\p{L}+er)innen\b/giu, 'female $1'],
  [
    /(?<!\p{L})(?:(?:co-?)?(?:fondatrice|fundadora)|entrepreneuse|emprendedora)s?(?!\p{L})/giu,
    'female founder',
  ],
  [/(?<!\p{L})s[eé]rie ([a-h])(?!\p{L})/giu, 'Series $1'],
  [
    /(?<!\p{L})(\p{L}{3,})(kanal|kanäle|blogger|influencer|podcasts?|läden|geschäfte|firma|firmen|unternehmen|startups|hersteller|anbieter)\b/giu,
    '$1 $2',
  ],
];

/** Second halves of compounds that say nothing of their own: "seed-stage", "Berlin-based". */
export const hyphenEndings = words('stage based led focused driven powered first friendly backed round');

/**
 * `what is said, or said = what is searched, too`: said without accents and in the singular. What is searched after
 * `==` is what somebody is: it must stand in the title, and nothing else makes up for it.
 */
const table = `
us, usa, american, america, u.s, u.s.a, amerikanisch, etats-unis, etats unis, americain, estados unidos, ee.uu, estadounidense, アメリカ, 米国 = united states, usa, us
uk, u.k, british, britain, england, scotland, grossbritannien, royaume-uni, royaume uni, britannique, reino unido, イギリス, 英国 = united kingdom, uk
uae = united arab emirates
nyc, new york city, nueva york, ニューヨーク = new york
sf, bay area, silicon valley, サンフランシスコ = san francisco
german, deutsch, deutsche, deutscher, deutsches, deutschland, allemand, allemande, allemagne, aleman, alemana, alemania, ドイツ = germany, german
french, franzosisch, frankreich, francais, francaise, frances, francesa, francia, フランス = france, french
spanish, spanisch, spanien, espagnol, espagnole, espagne, espanol, espanola, espana, スペイン = spain, spanish
italian, italienisch, italien, italienne, italie, italiano, italiana, italia, イタリア = italy, italian
dutch, hollandisch, niederlande, holland, neerlandais, pays-bas, pays bas, holandes, holandesa, paises bajos, オランダ = netherlands, dutch
swedish, schwedisch, schweden, suedois, suede, sueco, sueca, suecia, スウェーデン = sweden, swedish
swiss, schweizer, schweiz, suisse, suizo, suiza, スイス = switzerland
austrian, osterreich, osterreichisch, autriche, autrichien, austriaco = austria
portuguese, portugiesisch, portugais, portugaise, portugues, portuguesa, ポルトガル = portugal, portuguese
polish, polnisch, polen, polonais, pologne, polaco, polonia = poland, polish
danish, danemark, danois, danes, dinamarca = denmark
finnish, finnland, finlandais, finlande, finlandia = finland
estonian, estland, estonie = estonia
israeli, israelien, イスラエル = israel
indian, indien, inde, インド = india
chinese, chinesisch, chinois, chine, chino, 中国 = china, chinese
japanese, japanisch, japonais, japonaise, japon, japones, japonesa, 日本, 日本語 = japan, japanese
korean, korea, sudkorea, coree, coreen, corea, coreano, 韓国 = south korea, korean
taiwanese, 台湾 = taiwan
canadian, kanada, canadien, canadiense, カナダ = canada
brazilian, brasilien, bresil, bresilien, brasil, brasileno, ブラジル = brazil
mexican, mexiko, mexique, mexicain, mexicano, mexicana, メキシコ = mexico
australian, australien, australie, オーストラリア = australia
kenyan, kenia, ケニア = kenya
irish, irland, irlande, irlanda = ireland
europe, european, europa, eu, europaisch, europaische, europeen, europeenne, europeo, europea, ヨーロッパ, 欧州 = germany, austria, switzerland, netherlands, united kingdom, france, portugal, spain, italy, sweden, denmark, finland, estonia, poland, ireland, belgium
dach = germany, austria, switzerland
nordic, nordics, scandinavia, scandinavian, skandinavien, scandinavie, escandinavia, 北欧 = sweden, denmark, finland
asia, asian, asien, asie, asiatique, アジア = japan, south korea, taiwan, singapore, india, china
africa, african, afrika, afrique, アフリカ = kenya
latam, latin america, south america, sudamerika, amerique latine, america latina, latinoamerica, 中南米 = brazil, mexico, argentina, colombia
wien, wiener, vienna, vienne, viena, ウィーン = vienna, wien
berliner, berlinois, ベルリン = berlin
munchen, munchner, muenchen, ミュンヘン = munich
hambourg, hamburgo, ハンブルク = hamburg
zuerich, zurcher, チューリッヒ = zurich
lissabon, lisboa, lisbonne, リスボン = lisbon
londre, londres, ロンドン = london
parisien, parisienne, パリ = paris
barcelone, バルセロナ = barcelona
madrileno, マドリード = madrid
mailand, milano, ミラノ = milan
warschau, varsovie, varsovia = warsaw
kopenhagen, copenhague, コペンハーゲン = copenhagen
ストックホルム, estocolmo = stockholm
アムステルダム = amsterdam
ナイロビ = nairobi
ボストン = boston
tokio, 東京 = tokyo
seul, ソウル = seoul
roterdam = rotterdam
singapur, singapour, シンガポール = singapore
ciudad de mexico, cdmx = mexico city
bangalore = bengaluru

ceo, geschaftsfuhrer, geschaftsfuhrerin, chief executive, pdg, director general, directeur general, 最高経営責任者, 社長 == chief executive, ceo, managing partner
cto, directeur technique, director de tecnologia, technischer leiter, 最高技術責任者 == chief technology, cto
cfo, finanzvorstand, finanzchef, directeur financier, director financiero == chief financial, cfo
coo == chief operating, coo
cmo, marketing director, marketingleiter, marketingleiterin, marketingchef, directeur marketing, directrice marketing, responsable marketing, director de marketing, directora de marketing, マーケティング責任者 == head of marketing, chief marketing
cpo, responsable produit = head of product
vice president = vp
sales director, head of sales, vertriebsleiter, vertriebsleiterin, vertriebschef, directeur commercial, directeurs commerciaux, directrice commerciale, director de ventas, directora de ventas, director comercial, directores de ventas, 営業部長, 営業責任者 == vp of sales, head of sales
vertrieb, verkauf, vente, ventas, 営業 = sales
leader, leiter, leiterin, responsable, directeur, directrice, director, directora, 責任者, 部長 = head, director, vp, chief
owner, inhaber, inhaberin, proprietaire, dueno, propietario, オーナー == founder, owner, managing partner
founder, cofounder, founded, founding, gegrundet, grunder, grunderin, unternehmer, entrepreneur, fondateur, fondatrice, cofondateur, fundador, fundadora, cofundador, emprendedor, emprendedora, 創業者, 起業家 == founder
investor, vc, venture capitalist, business angel, angel investor, investisseur, investisseuse, inversor, inversora, inversionista, investorin, kapitalgeber, 投資家 == investor, venture partner, angel
engineer, ingenieur, ingenieurin, ingenieure, ingeniero, ingeniera, エンジニア == engineer
software engineer, software developer, developer, programmer, entwickler, entwicklerin, softwareentwickler, developpeur, developpeuse, desarrollador, desarrolladora, programador, 開発者 == backend engineer, frontend engineer, devops engineer, software engineer
designer, disenador, disenadora, produktdesigner, diseñador, デザイナー == designer
hr manager, human resource, personalleiter, personalchef, rh, drh, responsable rh, recursos humano, 人事 = head of people, talent acquisition, human resources
recruiter, recruteur, reclutador, personalvermittler == talent acquisition
produktmanager, chef de produit, chefs de produit, jefe de producto, プロダクトマネージャー = product manager
einkaufer, acheteur, comprador, buyer, purchasing manager, procurement = procurement
data scientist, datenwissenschaftler, cientifico de datos, データサイエンティスト = data scientist
female, woman, women, weiblich, weibliche, frau, frauen, femme, feminin, mujer, 女性 = female
male, man, men, mannlich, mannliche, mann, manner, homme, hombre, 男性 = male

early stage, early-stage, amorcage, etapa inicial, semilla, シード = seed, preseed
growth stage, growth-stage, late stage, late-stage = series c, series d
bootstrapped, eigenfinanziert, autofinance, autofinanciada = bootstrapped
ai, ki, ia, artificial intelligence, intelligence artificielle, inteligencia artificial, kunstliche intelligenz, 人工知能 = artificial intelligence, machine learning, ai
ml, maschinelles lernen, apprentissage automatique, aprendizaje automatico, 機械学習 = machine learning
it = information technology, software
dentist, dental, dentistry, dental practice, zahnarzt, zahnarzte, zahnarztin, zahnarztpraxis, zahnarztpraxen, zahnklinik, dentaire, dentiste, cabinet dentaire, cabinets dentaires, dentista, clinica dental, clinicas dentales, 歯科, 歯科医院, 歯医者 = dental, dentist
lawyer, attorney, solicitor, law office, anwalt, anwalte, rechtsanwalt, kanzlei, kanzleien, anwaltskanzlei, avocat, cabinet avocat, cabinets avocat, abogado, bufete, bufete de abogado, 法律事務所, 弁護士 = law firm, law
accountant, bookkeeper, tax advisor, tax adviser, steuerberater, buchhalter, steuerkanzlei, comptable, expert-comptable, contable, asesoria, 会計事務所, 税理士 = accounting firm, accountant
architect, architekt, architekturburo, architecte, arquitecto, arquitectura, estudio de arquitectura, 建築 = architecture
brewery, brewer, brauerei, brasserie, brasserie artisanale, cerveceria, cerveceria artesanal, craft beer, cerveza, 醸造所, ビール, クラフトビール = brewery, brewer
agentur, agenturen, agence, agencia = agency
implantologie, implantologia, インプラント = implant
producto, produit, produkt = product
designagentur, design studio, agence de design, agencia de diseno = design agency
fin tech, financial technology, financial service, finanz, finanzen, finance, finanza, フィンテック, 金融 = fintech, finance
health, health tech, health care, healthcare, medtech, med tech, digital health, gesundheit, sante, salud, ヘルステック, 医療, ヘルスケア = healthtech, health
insurance, insurance tech, versicherung, assurance, seguro, 保険 = insurtech, insurance
real estate, property tech, immobilie, immobilier, inmobiliaria, inmobiliario, 不動産 = proptech, real estate
climatetech, cleantech, clean tech, greentech, green tech, clean energy, green energy, renewable energy, renewable, klima, climat, clima, cambio climatico, energie renouvelable, energia renovable, sustainability, nachhaltigkeit, 気候, 気候変動, クライメートテック = climate tech, climate, renewable
cyber, cyber security, it security, information security, it-sicherheit, cybersicherheit, cybersecurite, ciberseguridad, セキュリティ, サイバーセキュリティ = cybersecurity
education, ed tech, education technology, bildung, educacion, 教育, エドテック = edtech, education
agriculture, ag tech, agtech, farming, landwirtschaft, agricole, agricultura, agricola, 農業, アグリテック = agritech, agriculture
food tech, lebensmittel, agroalimentaire, alimentaire, alimentacion, フードテック = foodtech, food
legaltech, リーガルテック = legal tech
traveltech, tourism, tourismus, tourisme, turismo, 観光 = travel tech, tourism
hrtech = hr tech
adtech, ad tech, advertising, werbung, publicite, publicidad, 広告 = martech, advertising
spacetech, aerospace, raumfahrt, spatial, aerospatial, espacial, aeroespacial, 宇宙 = space tech, aerospace
contech, bau, batiment, construccion, 建設 = construction tech
ecommerce, e-commerce, onlinehandel, comercio electronico, commerce electronique, eコマース = e commerce
game, video game, spiel, spiele, videospiel, videospiele, jeux, jeu, jeux video, videojuego, ゲーム = gaming, game
robotik, robot, roboter, robotique, robotica, ロボット, ロボティクス, ロボット工学 = robotics
chip, chipmaker, halbleiter, semiconductor, semi-conducteur, semiconducteur, semiconductore, 半導体 = semiconductor, chip
logistik, shipping, freight, spedition, logistique, logistica, transporte, 物流 = logistics, freight
mobilitat, mobilite, movilidad, モビリティ = mobility
biotechnology, biotechnologie, biotecnologia, バイオ, バイオテック = biotech
developer tool, entwicklertool, outils pour developpeur, herramientas para desarrollador = developer tools
vegan supplement, complements alimentaires vegan = vegan supplements

recipe, rezept, recette, receta, レシピ = recipe, cooking, baking
koch, kochen, cuisine, cocina, cocinar, 料理 = cooking
cooking, food, foodie, essen, nourriture, comida, 食べ物, グルメ = cooking, food
backen, patisserie, reposteria, ベーキング = baking
vegan, vegane, vegano, vegana, vegetalien, ヴィーガン, ビーガン = plant based, vegan
vegetarian, vegetarisch, vegetarien, vegetariano = vegan, plant based
street food, comida callejera, cuisine de rue, streetfood = street food
fashion, clothing, clothes, outfit, mode, kleidung, moda, ropa, vetement, ファッション, 服 = fashion, clothing, clothes, apparel, denim, swimwear
second hand, secondhand, gebraucht, seconde main, segunda mano, 古着 = second hand, second-hand
beauty, cosmetic, makeup, kosmetik, hautpflege, cosmetique, soin de la peau, soins de la peau, beaute, belleza, cosmetica, cuidado de la piel, スキンケア, 美容 = skincare, beauty
laufen, jogging, marathon, course a pied, correr, ランニング = running
trailrunning, traillauf, trail, トレイルランニング, トレイルラン = trail running
laufschuhe = running shoes
schuhe, chaussure, zapato, zapatilla, 靴 = shoes
gym, workout, sport, musculation, ejercicio, フィットネス, 筋トレ = fitness, training
ヨガ = yoga
reise, reisen, voyage, voyageur, viaje, viajar, viajero, 旅行 = travel
buch, bucher, reading, lesen, livre, lecture, libro, literatura, 本, 読書 = book
pflanze, zimmerpflanze, plant, plante, planta, 植物, 観葉植物 = plant, houseplant
garten, jardinage, jardin, jardineria, ガーデニング, 園芸 = gardening
fotografie, photographer, photographie, fotografia, 写真 = photography
hund, hunde, chien, perro, 犬 = dog
katze, gato, 猫 = cat
haustier, tierfutter, animaux, mascota, ペット = pet
kaffee, cafe, espresso, コーヒー = coffee, espresso
roaster, rosterei, torrefacteur, tostador = roasters, coffee roasted
tee, te, お茶, 紅茶 = tea
wein, vin, vino, ワイン = wine
schokolade, chocolat, chocolate, チョコレート = chocolate
schmuck, jewelry, jewelery, bijou, bijoux, joya, joyeria, ジュエリー, アクセサリー = jewellery
mobel, meuble, mueble, 家具 = furniture
keramik, ceramique, ceramica, 陶器 = ceramics
tastatur, clavier, teclado, キーボード = keyboard
brettspiel, jeux de societe, juegos de mesa, ボードゲーム = board games
bike, bicycle, fahrrad, radfahren, velo, cyclisme, bicicleta, ciclismo, 自転車 = cycling, bike
hiking, hiker, wandern, randonnee, senderismo, ハイキング = hiking, hiker, trail
camper, campen, acampada, キャンプ = camping
klettern, escalade, escalada, クライミング = climbing
candle, kerze, bougie, vela, キャンドル = candle
tech, technology, gadget, technik, technologie, tecnologia, テクノロジー, ガジェット = smartphone, tech
diy, heimwerken, bricolage, bricolaje = home renovation, woodworking
woodworker, holzwerken, tischler, menuiserie, carpinteria, 木工 = woodworking
elektroauto, ev, voiture electrique, voitures electriques, coche electrico, coches electricos, 電気自動車 = electric car
parent, mom, mum, eltern, parentalite, crianza, padre, maman, 子育て, 育児 = parenting, parents
money, finanztipp, geld, argent, dinero, personal finance, finances personnelles, finanzas personales, お金, 資産運用 = personal finance
artisanal, artisanale, artesanal, handwerklich, handgemacht, 手作り = craft, handmade
nachhaltig, nachhaltige, durable, ecologique, sostenible, ecologico, サステナブル = sustainable
language, sprache, sprachen lernen, langue, apprentissage des langues, idioma, aprender idiomas, 語学, 言語学習 = language learning
einrichtung, wohndesign, decoration, deco, decoracion, interiorismo, インテリア = interior design
football, soccer, fussball, futbol, サッカー = football
podcast, balado, ポッドキャスト = podcast
`;

/** What a word means. */
export interface Meaning {
  /** Other ways to say it. */
  readonly forms: readonly string[];
  /** Whether it says what somebody is. */
  readonly isRole: boolean;
}

const meanings: ReadonlyMap<string, Meaning> = new Map(
  table
    .trim()
    .split(/\n+/)
    .flatMap((line) => {
      const [said = '', searched = ''] = line.split(/ ==? /);
      const meaning = { forms: searched.split(', '), isRole: line.includes(' == ') };
      return said.split(', ').map((word) => [toKey(word), meaning] as const);
    }),
);

/** What else a word or a few may mean, in the singular or the plural. */
export function meaningOf(lower: string, exactly?: 'exactly'): Meaning | undefined {
  const key = toKey(lower);
  const exact = meanings.get(key);
  if (exact !== undefined || exactly) return exact;
  // What is left of a short word may be anything: "teens" are no tea.
  return [/ie$/, /e$/, /n$/, /en$/, /innen$/, /aux$/, /(?<=[dtrnl])e$/]
    .map((ending, at) => key.replace(ending, at === 0 ? 'y' : at === 5 ? 'al' : ''))
    .filter((word) => word.length > 3)
    .map((word) => meanings.get(word))
    .find((meaning) => meaning !== undefined);
}

/** Words without spaces that have a meaning, the longer ones first. */
export const knownRuns = new RegExp(
  [...meanings.keys()]
    .filter((word) => /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u.test(word))
    .sort((a, b) => b.length - a.length)
    .join('|'),
  'gu',
);

/** Without accents, and each word without an s at its end: "heads of sales" is "head of sale". */
export function toKey(lower: string): string {
  return withoutAccents(lower).replace(/(?<=\p{Script=Latin}{3})s(?!\p{L})/gu, '');
}

export function withoutAccents(lower: string): string {
  // The signs of Japanese that make one sound of another stay.
  return lower
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replaceAll('ß', 'ss');
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter(Boolean));
}
