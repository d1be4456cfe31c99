/** A command of a page, and its output on the page; empty if the page shows none. */
export interface ConsoleCommand {
  command: string;
  output: string;
}

const MORE = /\\$|<<'?(\w+)'?$/;

/** The commands of each `console` block of a Markdown page, in order: lines after `$ `, with what continues them. */
export function consoleBlocks(markdown: string): ConsoleCommand[][] {
  return [...markdown.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => commandsOf(block));
}

function commandsOf(block: string): ConsoleCommand[] {
  const commands: ConsoleCommand[] = [];
  const lines = block.trimEnd().split('\n');
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    if (!line.startsWith('$ ')) {
      const last = commands.at(-1);
      if (last) last.output += last.output ? `\n${line}` : line;
      continue;
    }
    let command = line.slice(2);
    const end = MORE.exec(command)?.[1];
    while (lines.length > 0 && (end ? !command.endsWith(`\n${end}`) : command.endsWith('\\')))
      command += `\n${lines.shift()}`;
    commands.push({ command, output: '' });
  }
  return commands;
}
