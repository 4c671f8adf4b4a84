/** How the demo talks: headings, aligned columns and verdicts on stdout, progress on stderr. */
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colour only where a terminal shows it; `NO_COLOR` and its like are respected. */
function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export class Report {
  #section = 0;
  #checks = 0;
  #failed = 0;

  get checks(): number {
    return this.#checks;
  }

  get failed(): number {
    return this.#failed;
  }

  title(text: string): void {
    this.line(styled('bold', text));
  }

  /** The next numbered section. */
  heading(text: string): void {
    this.#section += 1;
    this.line();
    this.line(styled('bold', `${this.#section}. ${text}`));
    this.line();
  }

  line(text = ''): void {
    process.stdout.write(text === '' ? '\n' : `${text}\n`);
  }

  /** Text as it stands in the kernel or in a file. */
  quoted(text: string): void {
    this.line(styled('cyan', text));
  }

  faint(text: string): void {
    this.line(styled('dim', text));
  }

  /**
   * What a result means, in plain words.
   * @param wrong how the result differs from what should be; empty when it does not
   */
  verdict(meaning: string, wrong: readonly string[], indent = '  '): void {
    this.#checks += 1;
    if (wrong.length === 0) {
      this.line(`${indent}${styled('green', '✓')} ${meaning}`);
      return;
    }
    this.#failed += 1;
    this.line(`${indent}${styled('red', '✗')} ${meaning}`);
    for (const one of wrong) this.line(`${indent}  ${styled('red', `but ${one}`)}`);
  }

  /** Does something that may take a while: says so on stderr when it takes more than a second. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const { stderr } = process;
    let said = false;
    const timer = setTimeout(() => {
      said = true;
      stderr.write(stderr.isTTY ? `… ${what}` : `… ${what}\n`);
    }, 1000);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      if (said && stderr.isTTY) stderr.write('\r\x1b[K');
    }
  }
}

/** Rows as lines of equal columns, two blanks between them and none at the end of a line. */
export function columns(rows: readonly (readonly string[])[], indent = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  return rows.map((row) =>
    `${indent}${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}`.trimEnd(),
  );
}

/** A bar of up to `width` characters. */
export function bar(part: number, whole: number, width: number): string {
  return whole > 0 ? '█'.repeat(Math.round((part / whole) * width)) : '';
}
