/** The page for a visitor who is not signed in. */
import { html } from '../../pages/html.ts'
import { shortAddress } from '../../pages/words.ts'
import { consolePage } from './layout.ts'

export type SignInView = {
  why: 'signed_out' | 'form_kept' | 'unexpected_answer' | 'cancelled' | 'not_an_operator'
  /** the wallet that is no operator */
  wallet?: string
  /** the page of the console that opens after the sign-in */
  to: string
}

const WHY: Readonly<Record<SignInView['why'], string | null>> = {
  signed_out: null,
  form_kept: 'Your session has ended. What you entered is kept, and opens after the sign-in. Nothing was changed yet.',
  unexpected_answer: 'The sign-in was not begun in this browser, or it took too long. Nothing was changed. Sign in again.',
  cancelled: 'The sign-in was cancelled. Nothing was changed.',
  not_an_operator:
    'This wallet is not an operator of this service. An owner adds it on the page “Operators”, or with the command: grantor operators add.',
}

export function signInPage({ why, wallet, to }: SignInView): string {
  return consolePage({
    title: 'Sign in',
    content: html`<div class="narrow"><article class="card" data-sign-in="${why}">
<h1>Sign in to the console</h1>
${WHY[why] !== null && html`<p class="message problem" role="alert">${wallet !== undefined && html`<code>${shortAddress(wallet)}</code>: `}${WHY[why]}</p>`}
<p class="lead">Operators sign in with their wallet. The session ends after one hour without use, after eight hours, or when you sign out.</p>
<p class="actions"><a class="button" id="sign-in" href="/console/sign-in?to=${encodeURIComponent(to)}">Sign in with your wallet</a></p>
</article></div>`,
  })
}
