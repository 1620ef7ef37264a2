"""Sphinx extension: a page asks nothing of any other host, and nothing of its own that it does not need.

What `npm run build` left in book/_web/dist goes into the site as _static/web. The theme's icon library (0.5 MB) makes
room for a few masks; the live figures come when they are near the viewport. Links to a source repository
exist when HWLAB_REPOSITORY names one, as in https://github.com/owner/name.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import contents
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.locale import _

WEB = Path(__file__).resolve().parents[1] / "_web"
FIRST_FACES = ("source-serif-4-latin-400-normal", "barlow-semi-condensed-latin-600-normal")  # of the first screen


def repository() -> str | None:
    """The address of the source repository, or None.

    Raises
    ------
    ExtensionError
        If HWLAB_REPOSITORY is set and is no such address.
    """
    address = os.environ.get("HWLAB_REPOSITORY", "").strip().rstrip("/")
    if not address:
        return None
    parts = urlsplit(address)
    if parts.scheme != "https" or len(parts.path.strip("/").split("/")) != 2:
        raise ExtensionError(f"HWLAB_REPOSITORY is {address!r}; give an address like https://github.com/owner/name")
    return address


def site_address(address: str | None) -> str:
    """Where GitHub Pages publishes the book of a repository; empty when that is not known.

    >>> site_address("https://github.com/owner/name"), site_address(None)
    ('https://owner.github.io/name/', '')
    """
    owner, _, name = urlsplit(address or "").path.strip("/").partition("/")
    return f"https://{owner.lower()}.github.io/{name}/" if urlsplit(address or "").netloc == "github.com" else ""


def _configure(app: Sphinx, config: Config) -> None:
    address = repository()
    if address:
        config.html_theme_options |= {
            "repository_url": address,
            "repository_branch": "main",
            "use_repository_button": True,
            "use_issues_button": True,
            "launch_buttons": {
                "colab_url": "https://colab.research.google.com",
                "binderhub_url": "https://mybinder.org",
            },
        }
        config.html_baseurl = site_address(address)


def _copy_assets(app: Sphinx) -> None:
    """Before the pages are written, so that Sphinx can put a checksum on each address."""
    if app.builder.format != "html":
        return
    if not (WEB / "dist/book.css").exists():
        raise ExtensionError(f"{WEB / 'dist'} is empty: run `npm ci && npm run build` in {WEB}, or `make book`")
    target = Path(app.outdir, "_static/web")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(WEB / "dist", target)
    app.add_css_file("web/book.css", priority=900)
    for module in ("page", "live", "practice"):
        if (target / f"{module}.mjs").exists():
            app.add_js_file(f"web/{module}.mjs", type="module")


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """What the head of a page says beyond the theme: fonts to fetch first, and the picture of a link to it."""
    fonts = "".join(
        f'<link rel="preload" as="font" type="font/woff2" crossorigin="anonymous" '
        f'href="{context["pathto"](f"_static/web/fonts/{face}.woff2", 1)}" />\n'
        for face in FIRST_FACES
    )
    context["metatags"] = context.get("metatags", "") + fonts
    if tree := context.get("generate_toctree_html"):  # the theme's buttons that unfold a chapter have no name
        name = f'<summary aria-label="{_("Pages of this chapter")}">'
        context["generate_toctree_html"] = lambda *args, **kw: str(tree(*args, **kw)).replace("<summary>", name)
    if context.get("sourcename", "").endswith(".md"):  # Colab opens notebooks only: the labs
        context["header_buttons"] = [
            button for button in context.get("header_buttons", []) if button.get("label") != "launch-buttons"
        ]
    body = without_lists_in_signatures(context.get("body", ""))
    for wrong, right in MENDED.items():
        body = body.replace(wrong, right)
    context["body"] = body
    if app.config.html_baseurl:
        facts = {
            "og:type": "book",
            "og:title": re.sub(r"<[^>]*>", "", context.get("title", app.config.project)),
            "og:site_name": app.config.project,
            "og:image": f"{app.config.html_baseurl}_static/web/card.png",
            "og:url": f"{app.config.html_baseurl}{pagename}.html",
            "twitter:card": "summary_large_image",
        }
        context["metatags"] += "".join(f'<meta property="{name}" content="{text}" />\n' for name, text in facts.items())


MENDED = {
    'role="doc-biblioentry"': 'role="listitem"',  # what the list around the references needs
    '<summary aria-label="Toggle hidden content">': "<summary>",  # it has words of its own
}


def without_lists_in_signatures(body: str) -> str:
    """A signature that Sphinx breaks into lines, as lines: its definition list has no terms, which is no list.

    >>> without_lists_in_signatures('(<dl>\\n<dd><em class="sig-param">m</em>,</dd>\\n</dl>\\n)')
    '(<span class="sig-lines">\\n<span><em class="sig-param">m</em>,</span>\\n</span>\\n)'
    """

    def lines(found: re.Match) -> str:
        inside = found[1].replace("<dd>", "<span>").replace("</dd>", "</span>")
        return f'<span class="sig-lines">\n{inside}</span>'

    return re.sub(r'<dl>\n((?:<dd><em class="sig-param">.*?</dd>\n)+)</dl>', lines, body)


BARE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>{head}
<link rel="icon" href="{root}_static/web/icon.svg">
<link rel="stylesheet" href="{root}_static/web/book.css">
<script>
try {{ document.documentElement.dataset.theme = localStorage.theme }} catch {{ /* a browser that keeps nothing */ }}
if (!/^(light|dark)$/.test(document.documentElement.dataset.theme))
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
</script>
</head><body class="bare"><main class="bd-article"><h1>{title}</h1>{body}</main></body></html>
"""

LOST = """
<div class="cover"><div class="cover-text">
<p>No wafer yields on every site. There is no page at this address; there is one on each of these dies.</p>
<p><a class="door first" href="{root}{start}">{project}</a> <a class="door" href="{root}search.html">Search</a></p>
</div>
<div class="cover-wafer">{wafer}</div></div>
<script type="module" src="{root}_static/web/page.mjs"></script>
"""


def _finish(app: Sphinx, error: Exception | None) -> None:
    """The site's front door and its page for a wrong address; and nothing that no page loads."""
    if error or app.builder.name != "html":
        return
    out, start, root = Path(app.outdir), f"{app.config.root_doc}.html", app.config.html_baseurl or "/"
    language, project = app.config.language, app.config.project
    at_once = f'<meta http-equiv="refresh" content="0; url={start}">'
    link = f'<p><a href="{start}">{project}</a></p>'
    (out / "index.html").write_text(BARE.format(language=language, title=project, head=at_once, root="", body=link))
    titles = [page.title for page in contents.pages()]
    wafer = contents.draw(app.env, titles, lambda docname: f"{root}{docname}.html")
    lost = LOST.format(root=root, start=start, project=project, wafer=wafer)
    (out / "404.html").write_text(BARE.format(language=language, title="No such page", head="", root=root, body=lost))
    static = out / "_static"
    for unused in (*static.rglob("*.map"), *static.glob("scripts/fontawesome.js*")):
        unused.unlink(missing_ok=True)
    shutil.rmtree(static / "vendor/fontawesome", ignore_errors=True)
    theme = static / "styles/pydata-sphinx-theme.css"
    theme.write_text(without_icon_font(theme.read_text()))


def without_icon_font(css: str) -> str:
    """The theme's style sheet less its icon font: the faces, and a rule for each of 2,000 letters.

    >>> without_icon_font('a{b:c}@font-face{x:y}.fa-house:before{content:"\\\\f015"}.fa-lg{font-size:2em}')
    'a{b:c}.fa-lg{font-size:2em}'
    """
    css = re.sub(r"@font-face\s*\{[^}]*\}", "", css)
    css = re.sub(r'(?:\.fa-[\w-]+:{1,2}before,?)+\{content:"[^"]*"\}', "", css)
    css = re.sub(r'(?:\.fa-[\w-]+,?)+\{--fa:"[^"]*"(?:;--fa--fa:"[^"]*")?\}', "", css)
    return re.sub(r"/\*# sourceMappingURL=[^*]*\*/", "", css)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_config_value("comments_config", {}, "")  # Jupyter Book sets it, for an extension that the book does without
    app.connect("config-inited", _configure, priority=100)
    app.connect("builder-inited", _copy_assets)
    app.connect("html-page-context", _page, priority=900)
    app.connect("build-finished", _finish, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
