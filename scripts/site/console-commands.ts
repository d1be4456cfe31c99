/** What a line of a `console` block is: a prompt with a command, the rest of this command, or output. */
type ConsolePart = 'prompt' | 'more' | 'output';

/** A command continues after a backslash, and until the end of its here-document. */
const MORE = /\\$|<<'?(\w+)'?$/;

/** Returns what each line of a `console` block is. Commands are the lines that begin with `$ `, with what continues them. */
export function partsOf(lines: string[]): ConsolePart[] {
  let isOpen = false;
  let end: string | undefined;
  return lines.map((line) => {
    const part = isOpen ? 'more' : 'prompt';
    if (!isOpen && !line.startsWith('$ ')) return 'output';
    if (end === undefined) {
      const more = MORE.exec(line);
      isOpen = more !== null;
      end = more?.[1];
    } else if (line === end) {
      isOpen = false;
      end = undefined;
    }
    return part;
  });
}

/** A command of a page, and its output on the page; empty if the page shows none. */
export interface ConsoleCommand {
  command: string;
  output: string;
}

/** Returns the commands of a `console` block, in order. */
export function commandsIn(block: string): ConsoleCommand[] {
  const commands: ConsoleCommand[] = [];
  const lines = block.trimEnd().split('\n');
  for (const [index, part] of partsOf(lines).entries()) {
    const line = lines[index] ?? '';
    const last = commands.at(-1);
    if (part === 'prompt') commands.push({ command: line.slice(2), output: '' });
    else if (part === 'more' && last) last.command += `\n${line}`;
    else if (last) last.output += last.output ? `\n${line}` : line;
  }
  return commands;
}
