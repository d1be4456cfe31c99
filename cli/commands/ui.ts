import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { checkAccess } from '../client/read.ts';
import { accessArgs, checkScope, makeCommand } from '../command-support/command.ts';
import { plain } from '../terminal/text.ts';
import { servePage } from '../ui/serve.ts';

const MAX_PORT = 65_535;

/** `kubectl stoker ui`: serves a live view of the fleet. */
export const ui = makeCommand({
  name: 'ui',
  summary: 'Open a live view of all gateways in your browser',
  details: [
    'Serves a page on 127.0.0.1 until you press Ctrl-C, and opens it in a browser if possible. The page shows waves, the state of every gateway, the plan of the newest commit, drift, the releases, and the last delivery. It has a button for each action, which shows the change, asks for confirmation, and makes exactly this change.',
    'The page uses your permissions in the cluster. Keep the address private: it contains a token that gives access until the command exits. The page loads nothing from other servers.',
    'Requires permission to read and watch GatewaySyncs. To show more than 200 gateways of one, and waves that select pods by label, the same is required for pods and SyncReports. To show the history, and to roll back to a release, it is required for SyncReleases. The role view includes all of these.',
  ],
  examples: [
    { line: 'ui', does: 'Show the GatewaySyncs of the current namespace' },
    { line: 'ui --all-namespaces', does: 'Show the GatewaySyncs of all namespaces' },
    {
      line: 'ui --no-open --port 8123',
      does: 'Run on a remote machine; forward the port with ssh -L 8123:127.0.0.1:8123',
    },
  ],
  args: {
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'Show the GatewaySyncs of all namespaces.' },
    port: { type: 'string', valueHint: 'PORT', description: 'Port to listen on. Default: any free port.' },
    open: { type: 'boolean', default: true, description: 'Print the address without opening a browser.' },
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const all = args['all-namespaces'];
    checkScope(args);
    const port = args.port === undefined ? undefined : Number(args.port);
    if (port !== undefined && !(Number.isInteger(port) && port > 0 && port <= MAX_PORT))
      throw new Problem(`--port must be a number from 1 to ${MAX_PORT}`, 'InvalidArguments');
    const access = connect(args, host);
    const namespace = all ? undefined : access.namespace;
    await checkAccess(access, namespace);
    const page = await servePage({ access, namespace, port, now: host.now });
    host.print(`${page.address}\n`);
    const where = namespace ? `namespace ${namespace}` : 'all namespaces';
    host.note(`showing ${plain(`context ${access.context}, ${where}`)} with your permissions; press Ctrl-C to stop\n`);
    if (args.open) host.openBrowser?.(page.makeTicket());
    await host.untilEnded?.();
    await page.stop();
    return EXIT.ok;
  },
});
