import { OWN_DESCRIPTIONS } from '../../oauth/own-descriptions.ts'

/**
 * Every text on the pages, ready for translation.
 *
 * `{app}`, `{host}`, `{wallet}`, `{account}`, `{wait}` … are placeholders that `fill` (words.ts) replaces. The text
 * of an error has three parts: what happened, that nothing is lost (if that is true), and what to do next.
 */
export const texts = {
  promise: 'Nobody here will ever ask for your recovery phrase or your private key.',
  forBuilders: 'For the people who build {app}',
  anApp: 'the app',
  deviceApp: 'an app on this device',
  onDevice: 'An app on this device that opens {scheme} links',
  atPlace: 'At {places}',
  atPlaces: 'At each of {places}',
  unregistered: {
    callsItself: 'It calls itself “{name}”. This name is not checked.',
    answerTo: 'The answer goes to {host}',
    answerToThisMachine: 'The answer goes to a program on this device',
    answerToScheme: 'The answer goes to an app on this device that opens {scheme} links',
  },
  /** What a scope allows, after `login.mayDo` and the like. */
  scopes: OWN_DESCRIPTIONS,
  /** The label of the chooser of languages. */
  language: 'Language',
  /** The links to pages of the platform. */
  help: 'Help',
  privacy: 'Privacy',
  justNow: 'just now',
  /** Between two parts of a sentence, and between two sentences. */
  comma: ', ',
  stop: '. ',
  tryAgain: 'Try again',
  whatToDo: 'What to do now',
  reason: 'Reason:',
  requestNumber: 'Number of this request:',

  /**
   * The purpose of a login: an app, an app on a device, the user's own account page, or ending everything. In the last two, `place`
   * replaces {app}.
   */
  purpose: {
    app: {
      title: 'Sign in to {app}',
      intro: 'Prove with your wallet that it is you. It is free: no gas and no transfer.',
      cancel: 'Cancel and go back to {app}',
      place: '',
    },
    device: {
      title: 'Sign in to {app} on your device',
      intro: 'Your signature gives access to the device that shows this code. It is free: no gas and no transfer.',
      cancel: 'Cancel and give no access',
      place: '',
    },
    cross_device: {
      title: 'Sign in to {app} on your other screen',
      intro: 'Your signature gives access to the browser that shows this code. It is free: no gas and no transfer.',
      cancel: 'Cancel and give no access',
      place: '',
    },
    account: {
      title: 'See your connected apps',
      intro:
        'Prove with your wallet that it is yours, and you see which apps may do what, and can end any of it. It allows no app anything. No gas and no transfer.',
      cancel: 'Cancel',
      place: 'your account page',
    },
    end_everything: {
      title: 'End everything',
      intro:
        'With one signature every app loses all access that your wallet gave it, and every browser signed in with it is signed out. No gas and no transfer.',
      cancel: 'Cancel and end nothing',
      place: 'the page that ends everything',
    },
  },

  login: {
    mayDo: 'Once you sign in, {app} may',
    mayNothing: 'Once you sign in, {app} learns your wallet’s address, and nothing else.',
    hint: '{app} expects {account}. You can use another account all the same.',
    choice: 'Switch off what you do not want to allow.',
    at: 'It may do so at',
    runsUntil: 'What you allow ends on {day}, or as soon as you end it.',
    openUntil: 'This request is open until {time}',
    choose: 'Choose your wallet',
    looking: 'Looking for wallets in this browser\u00a0…',
    noScriptTitle: 'Sign in by hand',
    noScript:
      'Scripts are turned off here, so this page cannot reach a wallet by itself. You can still sign in: tell us your address, sign the text we show you with your wallet’s own tool, and paste the signature.',
  },

  phone: {
    title: 'Use a wallet on your phone',
    compare: 'The page there shows these letters too. Sign only if they are the same.',
    signThere: {
      explain: 'Scan the code with your phone and sign there. This page then goes on by itself.',
      openIn: 'Open this sign-in in your wallet app and sign there. Then come back to this browser: it goes on by itself.',
    },
    signed: 'I have signed on my phone',
    goOnThere: {
      title: 'Continue on your phone instead',
      explain: 'Scan this code with your phone. You then sign and continue there; this page only confirms that it worked.',
      openIn: 'Open this sign-in in the browser inside your wallet app, and go on there.',
    },
    signElsewhere: {
      explain: 'Scan this code with the device that has your wallet, and sign there.',
      openIn: 'Open this sign-in in your wallet app and sign there.',
    },
    codeLabel: 'QR code of the link below',
    noCode: 'This request is too long for a code, so take the link to your phone.',
    link: 'The same as a link',
    copy: 'Copy the link',
    otherWallet: 'Another wallet? Copy the link, and paste it in the browser inside your wallet app.',
  },

  noWallet: {
    title: 'There is no wallet in this browser',
    what: 'A wallet is an app or a browser extension that keeps the keys of your accounts. Signing in takes one signature from it, and no password.',
    phone: 'You have a wallet on your phone? Use it: “Use a wallet on your phone”, below.',
    noPhone: 'You have a wallet on this phone? Start again from {app} in the browser inside your wallet app.',
    extension: 'You have a wallet extension? Unlock it and allow it on this site: it then appears here by itself.',
    none: 'You have none yet?',
    find: 'Find a wallet on ethereum.org',
  },

  byHand: {
    title: 'Sign in without a wallet in this browser',
    explain:
      'With a hardware wallet’s own tool, for example: tell us your address, sign the text we show you there, and paste the signature here.',
    address: 'Your wallet’s address',
    addressHint: 'It starts with 0x and has 42 characters.',
    showText: 'Show me the text to sign',
    signature: 'Signature',
    signatureHint: 'It starts with 0x. Paste all of it.',
    howTo: 'Sign exactly this text as a message (personal_sign), every line of it, with the account {account}.',
    signIn: 'Sign in',
    otherAddress: 'Use another address',
    couldNotCheck:
      'We could not check your signature right now. Nothing is lost and it is still here: wait {wait}, then send it again.',
    tooMany: 'There were too many failed attempts. Your signature is still here: wait {wait}, then send it again.',
    wrongAddress:
      'We cannot read this as a wallet address. Copy it again from your wallet, all 42 characters, and paste it here.',
    wrongSignature: 'This is not a complete signature. Copy it again from your wallet’s tool, from 0x to the end.',
    notProven:
      'This signature was not made with {account} over this text. Sign it again with that account, or use another address.',
  },

  development: {
    title: 'Development accounts',
    explain: 'For trying things out on this machine. Their keys are public: never send anything of value to them.',
    address: 'Account',
    addressHint: 'One of the test accounts, or any other address; left empty, the first test account.',
    signIn: 'Sign in',
    noScript: 'Scripts are turned off here, so this button allows all that is asked for above.',
    wrongAddress: 'We cannot read this as a wallet address: 0x and 40 digits from 0 to f.',
    needsSignature:
      '{app} asks for a signature, and only the test accounts can give one here. Use one of them, or sign with your own wallet.',
    approveTitle: 'Sign in as {account}?',
    approveExplain:
      'Development only. A test account signs the same text that a wallet would; any other address is accepted without proof.',
    approve: 'Approve',
    deny: 'Deny',
  },

  review: {
    title: 'What you are about to sign',
    explain: 'Your wallet will show you this same text. If it shows anything else, refuse.',
    account: 'Account',
    sign: 'Sign with {wallet}',
    again: 'Check my signature again',
    back: 'Another wallet',
    textLabel: 'The exact text to sign',
  },

  /** The translation that stands beside a text to sign. */
  signedText: {
    title: 'What the text says',
    counts: 'This is a translation. Your wallet shows the English text, and only the English text counts.',
    wants: '{host} asks you to sign in with your Ethereum account {account}.',
    allow: 'You allow {app} to do only what follows, until {day} (UTC):',
    appOf: 'the app of {host}',
    selfRegistered: 'an app that registered itself',
    toDevice: 'The access goes to the device that shows the code {code}.',
    toBrowser: 'The access goes to the browser that shows the code {code}.',
    answerToThatDevice: 'The answer goes to a program on that device',
    account: 'You sign in to see and end what apps may do for this address. This allows no app anything.',
    endEverything:
      'You end everything: every app loses all access that this address gave it, and every session of this address is signed out. This allows no app anything.',
    noTransfer: 'Signing costs no gas and makes no transfer.',
    otherLines:
      'The other lines are for programs: addresses, the network, a number that is used once, when this begins and ends, and the same permissions once more.',
  },

  /** For the browser script, which selects them by key and fills in the wallet's name. */
  script: {
    connecting: 'Open {wallet} and choose the account you want to use.',
    preparing: 'Preparing the text\u00a0…',
    signing: 'Now confirm in {wallet}. Check that it shows the same text.',
    checking: 'Checking your signature\u00a0…',
    checkingLong: 'Still checking. A wallet that is a contract is checked on its chain, which takes a few seconds\u00a0…',
    done: 'You are signed in. Taking you to {app}\u00a0…',
    switched: 'You switched to another account, so here is a new text. Please read it again.',
    rechosen: 'You changed what you allow, so here is a new text. Please read it again.',
    oneMustStay: 'At least one must stay on. To allow nothing at all, cancel.',
    copied: 'Copied',
    waiting: 'Waiting for the signature of your wallet\u00a0…',
    waitingOffline: 'We cannot reach this site right now. As soon as we can, this page goes on by itself.',
    slow: 'Still waiting for {wallet}. Its window may be behind this one: click its icon next to the address bar. Or choose another wallet.',
    rejected: 'You refused in {wallet}, so nothing was signed. When you are ready, try again.',
    pending: '{wallet} still has an earlier request open. Open it, answer that request, then try again.',
    locked: '{wallet} is locked or shared no account. Unlock it, then try again.',
    disconnected: '{wallet} lost its connection. Reopen it or check your internet connection, then try again.',
    walletFailed: '{wallet} could not do this. Try again; if it keeps failing, restart the wallet or use another one.',
    wrongAccount: 'That signature did not come from {account}. In {wallet}, choose this account, then try again.',
    addressRefused: '{wallet} gave an address that we cannot read. Try again, or use another wallet.',
    addressNotAllowed: 'This platform does not accept {account}. Use another account, or ask the platform for access.',
    chainNotAllowed: 'Your wallet is on a network that is not accepted here. Switch to Ethereum in {wallet}, then try again.',
    tooMany: 'There were too many failed attempts. Wait {wait}, then try again.',
    couldNotCheck:
      'We could not check your signature right now. Nothing is lost, and you need not sign again: wait a moment, then send it again.',
    unavailable: 'Our sign-in service does not answer right now. Nothing is lost: wait a moment, then try again.',
    offline: 'We could not reach this site. Check your internet connection, then try again.',
    defect: 'Something went wrong on our side. Try again; if it happens again, start again from {app}.',
    legacyWallet: 'Wallet in this browser',
  },

  /** WalletConnect is a name. `relay` is the host of the server between the page and the wallet. */
  walletConnect: {
    title: 'Connect your wallet',
    explain: 'Scan this code with your wallet app. The wallet then shows the text to sign.',
    onThisDevice: 'Open a wallet on this device',
    relayLearns:
      'The connection goes through {relay}. This server cannot read the text that you sign, but it learns the network addresses of your devices.',
    close: 'Choose another way',
    script: {
      relayAway: 'We could not reach the server between this page and your wallet. Try again later, or use another wallet.',
      walletSilent: 'No wallet answered in time, so nothing was signed. Choose {wallet} again for a new code.',
      cannotSign: 'Your wallet cannot sign a text on a network that is accepted here. Use another wallet.',
    },
  },

  movingOn: {
    signed_in: { title: 'You are signed in', text: 'Taking you to {app}\u00a0…' },
    allowed: { title: 'Allowed', text: 'Taking you back to {app}\u00a0…' },
    denied: {
      title: 'You are not signed in',
      text: 'You cancelled, and {app} learned nothing about you. Taking you back\u00a0…',
    },
    failed: { title: 'That did not work', text: '{app} will tell you more. Taking you back\u00a0…' },
    signed_out: { title: 'You are signed out', text: 'Taking you back to {app}\u00a0…' },
    answered: { title: 'Back to the app', text: 'Taking you back to {app}\u00a0…' },
    to_sign: { title: 'One signature', text: 'Taking you to the page where your wallet signs\u00a0…' },
    finishing: { title: 'Signed', text: 'Your device gets its access\u00a0…' },
    finishing_browser: { title: 'Signed', text: 'Your other screen gets its access\u00a0…' },
    ending: { title: 'Signed', text: 'Everything is being ended\u00a0…' },
    cancelled: { title: 'You cancelled', text: 'Nothing was done\u00a0…' },
    link: 'Continue to {app}',
    onward: 'Continue',
    slow: 'If nothing happens, use the button.',
  },

  device: {
    enter: 'Enter the code of your device',
    enterIntro: 'The device or program that you want to sign in on shows eight letters.',
    code: 'Code',
    wrong: 'This code is wrong or has run out of time. Compare it with the one on your device, or start again there.',
    next: 'Continue',
    title: 'Sign in to {app} on your device',
    intro: 'A device or program asks for access. Go on only if you started it yourself and it shows this code.',
    mayDo: 'If you sign, {app} may',
    mayNothing: 'If you sign, {app} learns your wallet’s address, and nothing else.',
    at: 'It may do so at',
    from: 'Asked from',
    otherNetwork: 'another network than yours, which begins with {network}',
    program: 'Program',
    warning: 'Somebody sent you this code or this link? Then stop: your signature would let them in.',
    allow: 'The codes match',
    deny: 'Give no access',
  },

  crossDevice: {
    title: 'Sign in to {app} on your other screen?',
    intro: 'A browser asks to sign in. Go on only if you see these letters on your own screen.',
    at: 'It may do so at',
    from: 'Asked from',
    otherNetwork: 'another network than yours, which begins with {network}',
    program: 'Program',
    mayDo: 'If you sign, {app} may',
    mayNothing: 'If you sign, {app} learns your wallet’s address, and nothing else.',
    warning:
      'Somebody sent you this link, or showed you the code in a mail, a chat or a call? Then stop: your signature would let them in.',
    allow: 'The letters match',
    deny: 'Give no access',
  },

  signOut: {
    title: 'Sign out?',
    intro: '{app} says that you want to sign out here.',
    introUnknown: 'A link that you followed says that you want to sign out here.',
    what: 'This browser then no longer knows your wallet. Apps keep the access you gave them until it ends or you end it.',
    as: 'Signed in as',
    signOut: 'Sign out',
    stay: 'Stay signed in',
  },

  confirm: {
    title: 'Allow {app}?',
    intro: '{app} requests your confirmation.',
    introOnDevice: '{app} is an app on this device. We ask, so that no other program on this device can pose as it.',
    mayDo: 'If you allow it, it may',
    mayNothing: 'If you allow it, it learns your wallet’s address, and nothing else.',
    as: 'Signed in as',
    allow: 'Allow',
    deny: 'Do not allow',
    doubt: 'Did you not just start this yourself? Then do not allow it.',
  },
} as const
