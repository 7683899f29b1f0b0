declare module 'saxen' {
  /** As far as it is used here. */
  export class Parser {
    on(
      event: 'openTag',
      take: (name: string, attributes: () => Record<string, string> | false) => void,
    ): this;
    on(event: 'text' | 'cdata' | 'closeTag', take: (text: string) => void): this;
    on(event: 'error', take: (error: Error) => void): this;
    write(xml: string): this;
    end(): void;
  }
}
