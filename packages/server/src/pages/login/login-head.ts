import type { LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { actionInWords } from '../approval/approval-page.ts'
import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { type LimitNumber, limitList, limitNumbers } from '../limit-words.ts'
import { hasChoice, type LoginRequest, requestPlace } from '../login-request.ts'
import { GRANTOR_LOOK } from '../look.ts'
import { appHeading, groupScopes, permissions, placeWords, type Scope, scopeWords } from '../parts.ts'
import { symbol } from '../symbols.ts'
import { day } from '../times.ts'
import { fill, shortAddress } from '../words.ts'
import { onlySigner } from './by-hand.ts'

/** The id of the form for browsers without script; the switches belong to it. */
export const NO_SCRIPT_FORM = 'no-script-form'

export type LoginHead = {
  request: LoginRequest
  /** Epoch seconds. */
  now: number
  /** The scopes that are on; if absent, all of them. */
  chosen?: readonly string[] | undefined
  /** The numbers of the limit as they were typed; if absent, those of the request. */
  limit?: LimitChoice | undefined
  /** Whether a number that was typed was refused. */
  isLimitRefused?: boolean | undefined
  /** Whether the scopes can be switched on this page, or are only listed. */
  scopes: 'switches' | 'listed'
}

/** The app, its request, and the time limit: the same at the top of every step. */
export function loginHead(head: LoginHead, reader: Reader): Html {
  const { texts } = reader
  const { request, now } = head
  const forApp = request.purpose === 'app' || request.userCode !== undefined || request.approval !== undefined
  const words = texts.purpose[request.purpose]
  const app = forApp ? requestPlace(request, texts) : (reader.look ?? GRANTOR_LOOK).name
  const closes = new Date(request.expiresAt * 1000).toISOString()
  const time = html`<time id="open-until" datetime="${closes}">${closes.slice(11, 16)} UTC</time>`
  return html`${appHeading({ sentence: words.title, app, place: request, logo: request.clientLogo }, reader)}
<p class="lead">${words.intro}</p>
${
  request.userCode &&
  html`<p class="user-code"><code>${request.userCode}</code></p>
<p class="fine">${texts.device.warning}</p>`
}
${request.approval && actionInWords(request.approval, reader)}
${request.approval ? html`<p id="signer">${onlySigner(request, reader)}</p>` : request.loginHint && html`<p class="fine">${fill(texts.login.hint, { app, account: html`<code class="account">${shortAddress(request.loginHint)}</code>` })}</p>`}
${forApp && !request.approval && requestedScopes(head, app, reader)}
${request.expiresAt > now && html`<p class="fine with-symbol open-until">${symbol('clock')}<span>${fill(texts.login.openUntil, { time })}</span></p>`}`
}

function requestedScopes(head: LoginHead, app: string, reader: Reader): Html {
  const { mayDo, mayNothing, at, runsUntil } = reader.texts.login
  const { request, chosen } = head
  const isOn = ({ name, required }: Scope): boolean => required === true || chosen === undefined || chosen.includes(name)
  const scopes = request.scopes.filter(isOn)
  const isGrouped = request.scopes.some(({ resources }) => resources !== undefined)
  const runs = html`<p class="fine with-symbol runs-until">${symbol('calendar')}<span>${fill(runsUntil, { day: day(request.until, reader) })}</span></p>`
  return html`${
    head.scopes === 'switches' && hasChoice(request)
      ? switches({ scopes: request.scopes, isOn, app }, reader)
      : permissions({ scopes, app, some: mayDo, none: mayNothing }, reader)
  }
${request.limit && (head.scopes === 'switches' ? limitFields(request.limit, head, reader) : isLimitOn(head) && limitList(request.limit, reader))}
${request.resources.length > 1 && !isGrouped && html`<h2 class="label">${at}</h2><ul class="places">${request.resources.map((resource) => html`<li><code>${resource}</code></li>`)}</ul>`}
${request.scopes.length > 0 && runs}`
}

/** Whether the user left the scope of the limit on. */
function isLimitOn({ request, chosen }: LoginHead): boolean {
  return request.limit !== undefined && (chosen === undefined || chosen.includes(request.limit.scope))
}

/** The numbers of the limit, which the user can lower. Like the switches they belong to the form without script, and the script adds them to every request. */
function limitFields(
  limit: NonNullable<LoginRequest['limit']>,
  { limit: typed, isLimitRefused }: LoginHead,
  reader: Reader,
): Html {
  const words = reader.texts.limit
  const one = ({ name, label, value }: LimitNumber): Html =>
    html`<label for="limit-${name}"><span>${label}</span><input id="limit-${name}" name="limit_${name}" value="${typed?.[name] ?? value}" form="${NO_SCRIPT_FORM}" inputmode="decimal" size="${Math.max(6, value.length + 1)}" maxlength="17" autocomplete="off" dir="ltr" aria-describedby="limit-hint${isLimitRefused && ' limit-problem'}"></label>`
  return html`<fieldset id="limit">
<legend class="label">${words.title} <code>${limit.scope}</code></legend>
<p class="hint" id="limit-hint">${words.hint}</p>
${isLimitRefused && html`<p class="field-problem" id="limit-problem">${words.refused}</p>`}
${limitNumbers(limit, reader).map(one)}
</fieldset>`
}

/** The switches belong to the form without script. The page's script reads them too and adds them to every request. */
function switches(given: { scopes: Scope[]; isOn: (scope: Scope) => boolean; app: string }, reader: Reader): Html {
  const { scopes, isOn, app } = given
  const { texts } = reader
  const one = (scope: Scope): Html => {
    const id = `scope-${scopes.indexOf(scope)}`
    return html`<label class="switch" for="${id}"><span>${scopeWords(scope, reader)}</span><input type="checkbox" role="switch" id="${id}" name="scope" value="${scope.name}" form="${NO_SCRIPT_FORM}" autocomplete="off" aria-describedby="scopes-hint"${isOn(scope) && html` checked`}${scope.required && html` required disabled`}></label>`
  }
  return html`<fieldset id="scopes">
<legend class="label">${fill(texts.login.mayDo, { app })}</legend>
<p class="hint" id="scopes-hint">${texts.login.choice}</p>
${groupScopes(scopes).map(({ places, scopes: own }) => (places.length === 0 ? own.map(one) : html`<fieldset><legend class="place">${placeWords(places, reader)}</legend>${own.map(one)}</fieldset>`))}
</fieldset>`
}
