"""Two spiders of Scrapy share a filter: scrapy_spiders.py PORT. Run with the
directory of man/examples in PYTHONPATH; `bloomdedup serve` listens on PORT."""
import collections
import http.server
import multiprocessing
import sys
import threading

import scrapy
from scrapy.crawler import CrawlerProcess

from scrapy_bloomdedup import BloomdedupDupeFilter

PAGES = 60


class Site(http.server.BaseHTTPRequestHandler):
    """Pages with links to others, some of them in two spellings."""
    fetched = collections.Counter()

    def do_GET(self):
        Site.fetched[self.path] += 1
        n = int(self.path.split("?")[0].strip("/") or 0)
        links = ["/%d?a=1&b=2" % to for to in (2 * n + 1, 2 * n + 2, n // 2)
                 if to < PAGES]
        links += [link.replace("a=1&b=2", "b=2&a=1") for link in links]
        text = "".join('<a href="%s">x</a>' % link for link in links).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        pass


class Spider(scrapy.Spider):
    def __init__(self, name, site):
        super().__init__(name)
        self.start_urls = [site]

    def parse(self, response):
        yield from response.follow_all(css="a")


def crawl(site, port, go_on):
    go_on.wait()
    process = CrawlerProcess({
        "DUPEFILTER_CLASS": "scrapy_bloomdedup.BloomdedupDupeFilter",
        "BLOOMDEDUP_SERVER": "127.0.0.1:%s" % port,
        "BLOOMDEDUP_FILTER": "scrapy",
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    })
    for name in "one", "two":
        process.crawl(Spider, name=name, site=site)
    process.start()


def crawled(child):
    """What a process of its own fetches, since a reactor runs only once."""
    child, go_on = child
    Site.fetched.clear()
    go_on.set()
    child.join()
    assert child.exitcode == 0
    pages = collections.Counter()
    for path, times in Site.fetched.items():
        pages[int(path.split("?")[0].strip("/") or -1)] += times
    # each spider fetches the page that it starts from
    assert pages.pop(-1) == 2
    return pages


def main():
    port = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site = "http://127.0.0.1:%d/" % server.server_port
    # forked before there are threads: to import Scrapy again takes a second
    context = multiprocessing.get_context("fork")
    children = []
    for _ in range(2):
        go_on = context.Event()
        child = context.Process(target=crawl, args=(site, port, go_on),
                                daemon=True)
        child.start()
        children.append((child, go_on))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert crawled(children[0]) == {n: 1 for n in range(PAGES)}
    assert crawled(children[1]) == {}

    # a server that is down, in the middle of a crawl: nothing is missed
    class Fingerprinter:
        def fingerprint(self, request):
            return b"x"
    down = BloomdedupDupeFilter("127.0.0.1:1", "scrapy", "1000|1e-3",
                                Fingerprinter(), None)
    assert not down.request_seen(scrapy.Request(site))


if __name__ == "__main__":
    main()
