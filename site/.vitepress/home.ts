/** The top of the start page, above the index of the docs. */
export const home = {
  layout: 'home',
  hero: {
    name: 'stoker-operator',
    text: 'Files from git to the pods that read them',
    tagline: 'Within a second of a push, a few pods at a time, with a health check and an automatic rollback.',
    image: {
      src: '/rollout.svg',
      alt: 'The plan of a good commit, which then reaches six gateways in three waves. A bad commit fails on the first gateway and is rolled back.',
    },
    actions: [
      { theme: 'brand', text: 'Get started', link: '/tutorials/getting-started' },
      { theme: 'alt', text: 'Concepts', link: '/explanation/concepts' },
      { theme: 'alt', text: 'How it compares', link: '/explanation/comparison' },
    ],
  },
  features: [
    {
      title: 'Fast',
      details: 'Signed webhooks from eight git servers and tools. Polling catches the webhooks that get lost.',
      link: '/how-to/senders/',
    },
    {
      title: 'Safe',
      details: 'Waves with canaries, soak times, approvals, change windows, health checks, and automatic rollback.',
      link: '/how-to/roll-out-in-waves',
    },
    {
      title: 'Visible',
      details: 'One status for the fleet, a report for each pod, commit statuses, and a runbook for every alert.',
      link: '/how-to/see-what-gateways-do',
    },
    {
      title: 'Careful',
      details: 'The sidecar deletes only files that it wrote, repairs drift, and shows a diff before you deliver.',
      link: '/explanation/agent',
    },
  ],
};
