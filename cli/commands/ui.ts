import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { checkAccess } from '../client/read.ts';
import { plain } from '../terminal/text.ts';
import { servePage } from '../ui/serve.ts';
import { accessArgs, makeCommand } from './command.ts';

const MAX_PORT = 65_535;

/** `kubectl stoker ui`: a page that shows the fleet as it changes. */
export const ui = makeCommand({
  name: 'ui',
  summary: 'Show the fleet on a page in your browser, as it changes',
  details: [
    'Serves one page on 127.0.0.1 until you end it with Ctrl-C, and opens it where it can. It shows waves, gateways and what they wait for, drift, history and the last delivery, and has a button for each verb, which says what it will do, asks, and does exactly that.',
    'The page has your rights in the cluster, and so has everybody who has the address: it holds a token that is valid as long as the command runs. Nothing is loaded from elsewhere.',
    'It needs the right to read and watch GatewaySyncs. Waves need that for pods and SyncReports, too; the role view has it all.',
  ],
  examples: [
    { line: 'ui', does: 'the GatewaySyncs of the namespace of the context' },
    { line: 'ui --all-namespaces', does: 'all that you may read' },
    { line: 'ui --no-open --port 8123', does: 'on another machine: forward that port by ssh -L 8123:127.0.0.1:8123' },
  ],
  args: {
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'Those of all namespaces.' },
    port: { type: 'string', valueHint: 'PORT', description: 'Where to listen. Left out: any port that is free.' },
    open: { type: 'boolean', default: true, description: 'Print the address, and open no browser.' },
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const all = args['all-namespaces'];
    if (all && args.namespace)
      throw new Problem('--namespace and --all-namespaces exclude each other: leave out one', EXIT.usage);
    const port = args.port === undefined ? undefined : Number(args.port);
    if (port !== undefined && !(Number.isInteger(port) && port > 0 && port <= MAX_PORT))
      throw new Problem(`--port is a number from 1 to ${MAX_PORT}`, EXIT.usage);
    const access = connect(args, host);
    const namespace = all ? undefined : access.namespace;
    try {
      await checkAccess(access, namespace);
      const page = await servePage({ access, namespace, port, now: host.now });
      host.print(`${page.address}\n`);
      const where = namespace ? `namespace ${namespace}` : 'all namespaces';
      host.note(`shows ${plain(`context ${access.context}, ${where}`)}, with your rights, until Ctrl-C\n`);
      if (args.open) host.openBrowser?.(page.makeTicket());
      await host.untilEnded?.();
      await page.stop();
      return EXIT.ok;
    } finally {
      access.client.close();
    }
  },
});
