"""A dupefilter for Scrapy that many spiders and runs share.

It asks `bloomdedup serve` whether a request is new. In settings.py:

    DUPEFILTER_CLASS = "scrapy_bloomdedup.BloomdedupDupeFilter"
    BLOOMDEDUP_SERVER = "127.0.0.1:12345"  # or "unix:/run/bloomdedup/socket"
    BLOOMDEDUP_FILTER = "pages"
    BLOOMDEDUP_PLAN = "1000000|1e-6"       # or "1000000|1e-6|30d"

The filter is created on first use. If the server cannot be reached, requests
are taken as new: a page may be fetched twice, but none is missed. A request is
remembered when it is scheduled. Give the crawl a JOBDIR, so that it does not
lose the requests that wait when it is stopped.
"""
import logging

from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheError
from scrapy.dupefilters import BaseDupeFilter

logger = logging.getLogger(__name__)


class BloomdedupDupeFilter(BaseDupeFilter):
    def __init__(self, server, name, plan, fingerprinter, stats):
        self.name = name
        self.plan = plan
        self.fingerprinter = fingerprinter
        self.stats = stats
        self.client = Client(server, connect_timeout=5, timeout=5,
                             default_noreply=False)

    @classmethod
    def from_crawler(cls, crawler):
        get = crawler.settings.get
        return cls(get("BLOOMDEDUP_SERVER", "127.0.0.1:12345"),
                   get("BLOOMDEDUP_FILTER", "pages"),
                   get("BLOOMDEDUP_PLAN", "1000000|1e-6"),
                   crawler.request_fingerprinter, crawler.stats)

    def open(self):
        self.client.add(self.name, self.plan)

    def request_seen(self, request):
        fingerprint = self.fingerprinter.fingerprint(request).hex()
        try:
            return not self.client.add(f"{self.name}|{fingerprint}", "1")
        except (MemcacheError, OSError) as error:
            logger.error("%s: not deduplicated: %s", request.url, error)
            return False

    def log(self, request, spider):
        self.stats.inc_value("dupefilter/filtered")

    def close(self, reason):
        self.client.close()
