/** The icon of the app: a ticket with a tick. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#4338ca"/>
<path d="M6 11a2 2 0 0 1 2-2h16a2 2 0 0 1 2 2v2.4a2.7 2.7 0 0 0 0 5.2V21a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2v-2.4a2.7 2.7 0 0 0 0-5.2z" fill="#fff"/>
<path d="m11.8 16.2 3 3 5.6-6" fill="none" stroke="#4338ca" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
`
