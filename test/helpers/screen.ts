import xterm from '@xterm/headless';

/** Far more than any test prints: nothing scrolls away. */
const rows = 500;

export interface Screen {
  /** `↪` is in front of a line on which the terminal itself had to go on. */
  readonly text: string;
  /** Whether the cursor is on an empty line, as the next prompt needs it. */
  readonly ready: boolean;
}

/** The screen of a terminal of this width after these bytes. */
export async function screenOf(transcript: string, columns: number): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(transcript, resolve));
  const { active } = terminal.buffer;
  const lines = Array.from({ length: rows }, (_, at) => {
    const line = active.getLine(at);
    return `${line?.isWrapped ? '↪' : ''}${line?.translateToString(true) ?? ''}`;
  });
  return {
    text: `${lines.join('\n').trimEnd()}\n`,
    ready: active.cursorX === 0 && lines[active.cursorY] === '',
  };
}
