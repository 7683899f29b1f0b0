import type { Context } from '../../context.ts';

/** From which version on a terminal knows OSC 8; `TERM_PROGRAM` names it. */
const programs: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  'iTerm.app': [3, 1],
  vscode: [1, 72],
  WezTerm: [20200620, 0],
  ghostty: [1, 0],
  Hyper: [2, 0],
  rio: [0, 0],
  zed: [0, 0],
  Tabby: [0, 0],
};

const terms = ['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot', 'foot-extra', 'contour', 'wezterm'];

/**
 * Pure: whether the terminal on standard output can be given links, by what terminals say of themselves in the environment.
 * One that says nothing gets none, and neither does a multiplexer: it may pass them to a terminal that can't.
 */
export function hasHyperlinks({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  const { FORCE_HYPERLINK, TERM = '', TERM_PROGRAM = '', TERM_PROGRAM_VERSION = '', VTE_VERSION } = env;
  if (!stdout.isTerminal) return false;
  if (FORCE_HYPERLINK) return FORCE_HYPERLINK !== '0' && FORCE_HYPERLINK !== 'false';
  if (TERM === 'dumb' || env.CI || env.TMUX || env.STY) return false;
  if (env.WT_SESSION || env.DOMTERM || env.KITTY_WINDOW_ID || terms.includes(TERM)) return true;
  // 0.50.0 is not to be given any.
  if (VTE_VERSION) return Number(VTE_VERSION) > 5000;
  // Konsole 20.12.
  if (env.KONSOLE_VERSION) return Number(env.KONSOLE_VERSION) >= 201200;
  const least = programs[TERM_PROGRAM];
  if (least === undefined) return false;
  const [major = 0, minor = 0] = TERM_PROGRAM_VERSION.split(/[.-]/).map(Number);
  return major > least[0] || (major === least[0] && minor >= least[1]);
}
